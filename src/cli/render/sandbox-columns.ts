/** How sandboxes look in a table. */
import type { SandboxInfo } from '../../core/api.ts';
import type { SandboxState } from '../../core/states.ts';
import { formatSpan, formatUntil } from './amounts.ts';
import type { Colour } from './colours.ts';
import type { Column } from './rows.ts';

const STATE_COLOUR: Readonly<Record<SandboxState, Colour>> = {
  creating: 'warn',
  running: 'good',
  paused: 'warn',
  stopped: 'dim',
  destroying: 'warn',
  destroyed: 'dim',
  lost: 'bad',
};

/** `DEAD MAN` is when the provider ends it by itself if nobody speaks to it; shown where some provider does. */
export function sandboxColumns(sandboxes: readonly SandboxInfo[], now: number): readonly Column<SandboxInfo>[] {
  const columns: Column<SandboxInfo>[] = [
    { title: 'ID', value: (row) => row.id },
    { title: 'STATE', value: stateText, colour: (row) => (row.ownerDied ? 'bad' : STATE_COLOUR[row.state]) },
    { title: 'SANDBOX', value: sandboxName, shrinks: true },
    { title: 'SESSION', value: (row) => row.sessionKey ?? '', shrinks: true },
    { title: 'NETWORK', value: (row) => row.network },
    { title: 'AGE', value: (row) => formatSpan(now - row.createdAt) },
    { title: 'IDLE', value: (row) => formatSpan(now - row.lastActiveAt) },
    { title: 'DUE', value: (row) => formatUntil(row.dueAt, now) },
  ];
  if (sandboxes.some((row) => row.deadManAt !== undefined)) {
    columns.push({ title: 'DEAD MAN', value: (row) => formatUntil(row.deadManAt, now) });
  }
  return columns;
}

function stateText({ state, ownerDied }: SandboxInfo): string {
  return ownerDied ? `${state}, its owner died` : state;
}

function sandboxName({ profile, provider }: SandboxInfo): string {
  return profile === provider ? provider : `${profile} (${provider})`;
}
