/** The options that say how a sandbox is made, shared by every command that may make one. */
import { resolve } from 'node:path';
import type { SandboxOptions } from '../../core/api.ts';
import { SubletError } from '../../core/errors.ts';
import { NEEDS, type Need } from '../../core/needs.ts';
import { NETWORK_LEVELS, type NetworkLevel } from '../../core/network.ts';
import type { Limits, Mount } from '../../core/spec.ts';
import type { CommandInput, OptionSpec } from '../command.ts';
import { parseCount, parseCpuMillis, parseSizeBytes } from './quantities.ts';

export const SANDBOX_OPTIONS = {
  sandbox: {
    type: 'string',
    value: 'NAME[,NAME…]',
    help: 'profile or provider to use; of several, the first that can make it',
  },
  thread: {
    type: 'string',
    value: 'KEY',
    help: "use this conversation's sandbox and keep it: task, user:task or kind:user:task",
  },
  network: { type: 'string', value: 'LEVEL', choices: NETWORK_LEVELS, help: 'open, allowlist or none' },
  mount: {
    type: 'string',
    value: 'SRC:DST[:ro|rw]',
    multiple: true,
    help: 'show a host directory inside; read-only unless rw',
  },
  env: {
    type: 'string',
    short: 'e',
    value: 'NAME[=VALUE]',
    multiple: true,
    help: 'set a variable; without a value it is taken from here',
  },
  image: {
    type: 'string',
    value: 'IMAGE',
    help: "root file system: a name of `sublet images`, a path, or the provider's own name",
  },
  memory: { type: 'string', value: 'SIZE', help: 'memory limit, such as 512m' },
  cpus: { type: 'string', value: 'N', help: 'processor limit in cores, such as 1.5' },
  pids: { type: 'string', value: 'N', help: 'limit on processes' },
  disk: { type: 'string', value: 'SIZE', help: 'disk limit, where the provider can' },
  need: {
    type: 'string',
    value: 'ABILITY',
    multiple: true,
    choices: NEEDS,
    help: 'what its provider must be able to do, such as pause or ports',
  },
  context: { type: 'string', value: 'ID', help: 'named volume at the working directory that outlives the sandbox' },
} as const satisfies Record<string, OptionSpec>;

type Values = CommandInput<typeof SANDBOX_OPTIONS>['options'];
type Environment = Readonly<Record<string, string | undefined>>;

export function toSandboxOptions(values: Values, environment: Environment, signal: AbortSignal): SandboxOptions {
  return {
    sandbox: values.sandbox,
    image: values.image === undefined ? undefined : fromHere(values.image),
    network: values.network as NetworkLevel | undefined,
    env:
      values.env.length === 0
        ? undefined
        : Object.fromEntries(values.env.flatMap((text) => parseEnv(text, environment))),
    limits: parseLimits(values),
    mounts: values.mount.length === 0 ? undefined : values.mount.map(parseMount),
    contextId: values.context,
    needs: values.need.length === 0 ? undefined : (values.need as readonly Need[]),
    signal,
  };
}

// `./root` and `../root` start here; anything else may be a name.
function fromHere(image: string): string {
  return /^\.{1,2}(\/|$)/.test(image) ? resolve(image) : image;
}

/** `SRC:DST`, `SRC:DST:ro`, `SRC:DST:rw`. A relative source starts here; the target is absolute. */
export function parseMount(text: string): Mount {
  const parts = text.split(':');
  const mode = parts.length === 3 ? parts.pop() : 'ro';
  const [source, target] = parts;
  if (parts.length !== 2 || !source || !target?.startsWith('/') || (mode !== 'ro' && mode !== 'rw')) {
    throw new SubletError(
      'USAGE',
      `--mount takes SRC:DST, SRC:DST:ro or SRC:DST:rw with an absolute DST; "${text}" is not that.`,
      {
        hint: 'For example: --mount ./data:/data:ro. A path with a colon can be given in a profile.',
      },
    );
  }
  return { source: resolve(source), target, readOnly: mode === 'ro' };
}

/** `NAME=VALUE`, or `NAME` to pass on what this process has; a variable that is not set here is left out. */
export function parseEnv(text: string, environment: Environment): readonly (readonly [string, string])[] {
  const equals = text.indexOf('=');
  const name = equals === -1 ? text : text.slice(0, equals);
  // The value may be a secret: the message names the variable only.
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new SubletError('USAGE', '--env takes NAME=VALUE or NAME, with letters, digits and _ in the name.');
  }
  const value = equals === -1 ? environment[name] : text.slice(equals + 1);
  return value === undefined ? [] : [[name, value]];
}

function parseLimits(values: Values): Limits | undefined {
  const { memory, cpus, pids, disk } = values;
  if (memory === undefined && cpus === undefined && pids === undefined && disk === undefined) return undefined;
  return {
    memoryBytes: memory === undefined ? undefined : parseSizeBytes(memory, '--memory'),
    cpuMillis: cpus === undefined ? undefined : parseCpuMillis(cpus, '--cpus'),
    pids: pids === undefined ? undefined : parseCount(pids, '--pids'),
    diskBytes: disk === undefined ? undefined : parseSizeBytes(disk, '--disk'),
  };
}
