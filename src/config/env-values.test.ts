import { describe, expect, it } from 'vitest';
import { EnvValues } from './env-values.ts';

function read(env: Record<string, string>): { values: EnvValues; warnings: string[] } {
  const warnings: string[] = [];
  return { values: new EnvValues(env, (message) => warnings.push(message)), warnings };
}

describe('EnvValues', () => {
  const all = {
    DAYTONA_SANDBOX_AUTO_STOP_MINUTES: '1',
    SUBLET_SANDBOX_AUTO_STOP_MINUTES: '2',
    DEEPAGENTS_SANDBOX_AUTO_STOP_MINUTES: '3',
  };

  it("takes the provider's own variable before ours before DeepAgents'", () => {
    const { DAYTONA_SANDBOX_AUTO_STOP_MINUTES: _own, ...rest } = all;
    const { SUBLET_SANDBOX_AUTO_STOP_MINUTES: _ours, ...last } = rest;
    expect(read(all).values.number('daytona', 'autoStopMinutes')).toEqual({
      value: 1,
      source: 'env DAYTONA_SANDBOX_AUTO_STOP_MINUTES',
    });
    expect(read(rest).values.number('daytona', 'autoStopMinutes')).toEqual({
      value: 2,
      source: 'env SUBLET_SANDBOX_AUTO_STOP_MINUTES',
    });
    expect(read(last).values.number('daytona', 'autoStopMinutes')).toEqual({
      value: 3,
      source: 'env DEEPAGENTS_SANDBOX_AUTO_STOP_MINUTES',
    });
    expect(read({}).values.number('daytona', 'autoStopMinutes')).toBeUndefined();
  });

  it("does not read another provider's variable", () => {
    expect(read(all).values.number('modal', 'autoStopMinutes')?.value).toBe(2);
  });

  it('spells a provider with a dash with an underscore', () => {
    expect(read({ MY_CLOUD_SANDBOX_IMAGE: 'x' }).values.image('my-cloud')?.value).toBe('x');
  });

  it.each(['soon', '-5', '1e3', '0x10', '5m', 'Infinity', '99999999999'])(
    'warns about "%s", names the variable and falls through',
    (text) => {
      const { values, warnings } = read({ ...all, DAYTONA_SANDBOX_AUTO_STOP_MINUTES: text });
      expect(values.number('daytona', 'autoStopMinutes')?.value).toBe(2);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain('DAYTONA_SANDBOX_AUTO_STOP_MINUTES is ignored: it must be a number of minutes');
    },
  );

  it.each(['', '  '])('takes an empty variable as an unset one: "%s"', (text) => {
    const { values, warnings } = read({ ...all, DAYTONA_SANDBOX_AUTO_STOP_MINUTES: text });
    expect(values.number('daytona', 'autoStopMinutes')?.value).toBe(2);
    expect(warnings).toEqual([]);
  });

  it('reads zero, fractions, seconds and images', () => {
    const { values } = read({
      SUBLET_SANDBOX_AUTO_STOP_MINUTES: '0.5',
      SUBLET_SANDBOX_AUTO_DELETE_MINUTES: '0',
      SUBLET_SANDBOX_TIMEOUT_SECONDS: ' 90 ',
      SUBLET_SANDBOX_IMAGE: 'python:3.12',
    });
    expect(values.number('modal', 'autoStopMinutes')?.value).toBe(0.5);
    expect(values.number('modal', 'autoDeleteMinutes')?.value).toBe(0);
    expect(values.number('modal', 'timeoutSeconds')?.value).toBe(90);
    expect(values.image('modal')?.value).toBe('python:3.12');
  });

  it('refuses a create time-out of zero', () => {
    const { values, warnings } = read({ SUBLET_SANDBOX_TIMEOUT_SECONDS: '0' });
    expect(values.number('modal', 'timeoutSeconds')).toBeUndefined();
    expect(warnings).toHaveLength(1);
  });
});
