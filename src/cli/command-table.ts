/** Every command by name, loaded when it is asked for, in the groups of `sublet --help`. */
import type { CommandSpec } from './command.ts';

type Load = () => Promise<{ readonly command: CommandSpec }>;

export const COMMANDS: Readonly<Record<string, Load>> = {
  run: () => import('./commands/run.ts'),
  exec: () => import('./commands/exec.ts'),
  shell: () => import('./commands/shell.ts'),
  new: () => import('./commands/new.ts'),
  ls: () => import('./commands/ls.ts'),
  inspect: () => import('./commands/inspect.ts'),
  pause: () => import('./commands/pause.ts'),
  resume: () => import('./commands/resume.ts'),
  stop: () => import('./commands/stop.ts'),
  snapshot: () => import('./commands/snapshot.ts'),
  migrate: () => import('./commands/migrate.ts'),
  rm: () => import('./commands/rm.ts'),
  reap: () => import('./commands/reap.ts'),
  'destroy-all-sessions': () => import('./commands/destroy-all-sessions.ts'),
  pool: () => import('./commands/pool.ts'),
  cp: () => import('./commands/cp.ts'),
  logs: () => import('./commands/logs.ts'),
  events: () => import('./commands/events.ts'),
  metrics: () => import('./commands/metrics.ts'),
  config: () => import('./commands/config.ts'),
  doctor: () => import('./commands/doctor.ts'),
  images: () => import('./commands/images.ts'),
  providers: () => import('./commands/providers.ts'),
  completion: () => import('./commands/completion.ts'),
  version: () => import('./commands/version.ts'),
};

export const COMMAND_GROUPS: readonly (readonly [title: string, names: readonly string[]])[] = [
  ['Run', ['run', 'exec', 'shell', 'new']],
  [
    'Manage',
    ['ls', 'inspect', 'pause', 'resume', 'stop', 'snapshot', 'migrate', 'rm', 'pool', 'reap', 'destroy-all-sessions'],
  ],
  ['Look', ['cp', 'logs', 'events', 'metrics']],
  ['Set up', ['doctor', 'providers', 'images', 'config', 'completion', 'version']],
];
