/** Values that remember where they came from. */
import { basename } from 'node:path';
import type { Profile } from './profile.ts';

export type ValueSource =
  | 'call'
  | 'session'
  | 'default'
  | 'the first choice'
  | 'config.env'
  | `profile ${string}`
  | `env ${string}`;

export interface Sourced<T> {
  readonly value: T;
  readonly source: ValueSource;
}

export function profileSource(profile: Pick<Profile, 'file'>): ValueSource {
  return `profile ${basename(profile.file)}`;
}
