/** The shape of one case of the provider contract, and what cases share. */
import assert from 'node:assert/strict';
import type { CommandResult } from '../../core/commands.ts';
import { SubletError, type ErrorCode } from '../../core/errors.ts';
import type { Capability } from '../../provider/capabilities.ts';
import type { SandboxHandle, SandboxProvider, SandboxSpec } from '../../provider/provider.ts';

/** What is put to the test. */
export interface ProviderSubject {
  readonly provider: SandboxProvider;
  readonly signal: AbortSignal;
  /** Another instance over the same world, as another process would have it. */
  readonly secondProvider?: (() => Promise<SandboxProvider>) | undefined;
  /** What every sandbox is asked to be unless a case says otherwise: the contract holds for each kind. */
  readonly defaults?: Partial<SandboxSpec> | undefined;
}

export interface ProviderCaseContext {
  readonly provider: SandboxProvider;
  readonly signal: AbortSignal;
  /** A new name every time unless given; the sandbox is destroyed after the case. */
  readonly spec: (overrides?: Partial<SandboxSpec>) => SandboxSpec;
  readonly create: (overrides?: Partial<SandboxSpec>) => Promise<SandboxHandle>;
  /** Another process's view where the subject has one, else the same provider. */
  readonly second: () => Promise<SandboxProvider>;
}

export interface ProviderCase {
  readonly name: string;
  readonly needs?: readonly Capability[] | undefined;
  run(context: ProviderCaseContext): Promise<void>;
}

export async function assertRejects(promise: Promise<unknown>, ...codes: readonly ErrorCode[]): Promise<SubletError> {
  const error = await promise.then(
    () => assert.fail(`resolved instead of failing with ${codes.join(' or ')}`),
    (cause: unknown) => cause,
  );
  assert.ok(SubletError.is(error), `not a SubletError: ${String(error)}`);
  assert.ok(codes.includes(error.code), `${error.code} instead of ${codes.join(' or ')}: ${error.message}`);
  return error;
}

/** Standard output of a command that must succeed. */
export async function outputOf(sandbox: SandboxHandle, script: string): Promise<string> {
  const result = await sandbox.commands.run(script);
  assertExit(result, 0);
  return result.stdout;
}

export function assertExit(result: CommandResult, exitCode: number): void {
  assert.equal(
    result.exitCode,
    exitCode,
    `exit ${result.exitCode} (${result.signal ?? 'no signal'}), stderr: ${result.stderr}`,
  );
}

/** Says where they differ: a cut, a gap and a change have different causes. */
export function assertSameBytes(found: Uint8Array, expected: Uint8Array): void {
  const [is, should] = [Buffer.from(found), Buffer.from(expected)];
  if (is.equals(should)) return;
  const shorter = Math.min(is.length, should.length);
  let at = 0;
  while (at < shorter && is[at] === should[at]) at++;
  const near = (bytes: Buffer): string => bytes.toString('hex', at, at + 16) || 'the end';
  assert.fail(
    `${is.length} bytes instead of ${should.length}; from byte ${at}: ${near(is)} instead of ${near(should)}`,
  );
}

/** A script that leaves a process behind which no session, group or parent leads to, and which writes to `file` as long as it lives. */
export function runawayScript(file: string): string {
  return `setsid sh -c '(while :; do echo beat >>${file}; sleep 0.05; done) >/dev/null 2>&1 </dev/null &'; until [ -s ${file} ]; do sleep 0.01; done`;
}

/** Fails when `file` still grows. */
export async function assertStill(sandbox: SandboxHandle, file: string): Promise<void> {
  const sizes = (await outputOf(sandbox, `wc -c <${file}; sleep 0.4; wc -c <${file}`)).trim().split(/\s+/);
  assert.equal(sizes[0], sizes[1], `${file} still grows: the process lives on`);
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
