import { expect, it } from 'vitest';
import { installLine, loadSdk } from './load-sdk.ts';

it('says how to install what does not load, so that a shell takes it', async () => {
  const need = { package: '@daytona/sdk', range: '>=0.216.0 <1' };
  const loading = loadSdk('daytona', need, () => Promise.reject(new Error('not found')));
  await expect(loading).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    message: 'Provider "daytona" needs @daytona/sdk@>=0.216.0 <1, which did not load.',
    hint: "npm install '@daytona/sdk@>=0.216.0 <1'",
  });
});

it.each([
  ['e2b', '^2.51.0', 'npm install e2b@^2.51.0'],
  ['modal', '0.11.1', 'npm install modal@0.11.1'],
  ['@boxlite-ai/boxlite', '>=0.10.0 <1', "npm install '@boxlite-ai/boxlite@>=0.10.0 <1'"],
])('quotes %s only where it must', (name, range, line) => {
  expect(installLine({ package: name, range })).toBe(line);
});
