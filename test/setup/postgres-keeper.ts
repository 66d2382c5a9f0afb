/**
 * Runs beside the test files, once: starts one Postgres server for all of them when the first asks, and ends it with the
 * run. A run that needs none starts none.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestProject } from 'vitest/node';
import { PostgresServer } from './postgres-server.ts';

/** What a test file is told: where the server is, or why there is none. */
export type SharedPostgres = { readonly port: number } | { readonly reason: string };

declare module 'vitest' {
  interface ProvidedContext {
    /** Where to ask for the server. */
    readonly postgresKeeper: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let starting: Promise<PostgresServer> | undefined;
  const answers = createServer((_request, response) => {
    starting ??= PostgresServer.start();
    starting
      .then(
        ({ port }): SharedPostgres => ({ port }),
        (error: unknown): SharedPostgres => ({ reason: lastLine(error) }),
      )
      .then((shared) => response.end(JSON.stringify(shared)))
      .catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(answers, 'listening');
  project.provide('postgresKeeper', `http://127.0.0.1:${(answers.address() as AddressInfo).port}/`);
  return async () => {
    answers.close();
    await (await starting?.catch(() => undefined))?.remove();
  };
}

function lastLine(error: unknown): string {
  const { stderr, message } = error as Error & { readonly stderr?: string };
  return (stderr?.trim() || message).split('\n').at(-1) ?? '';
}
