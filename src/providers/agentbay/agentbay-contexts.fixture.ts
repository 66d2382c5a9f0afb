/** Contexts: files that are kept outside the sessions, brought in when one begins and out when it is told to or ends. */
import { randomBytes } from 'node:crypto';
import type { BackingSandbox } from '../../testing/loopback/backing-sandboxes.ts';
import { CodedRefusal } from './agentbay-refusal.fixture.ts';

export interface PersistenceData {
  readonly ContextId: string;
  readonly Path: string;
  readonly Policy?: string;
}

interface Context {
  readonly id: string;
  readonly name: string;
  /** What it has, as a tar. */
  files?: Uint8Array | undefined;
}

interface Mounted {
  readonly context: Context;
  readonly data: PersistenceData;
  task: 'upload' | 'download';
  /** A task is told as done after so many looks. */
  looksLeft: number;
}

export class ContextStore {
  readonly #contexts = new Map<string, Context>();
  readonly #mounted = new Map<string, Mounted>();

  get(name: string | undefined, mayCreate: boolean): unknown {
    if (name === undefined || name === '') throw new CodedRefusal(400, 'MissingName', 'Name is mandatory.');
    const present = [...this.#contexts.values()].find((each) => each.name === name);
    if (present === undefined && !mayCreate) throw notFound();
    const context = present ?? { id: `SdkCtx-${randomBytes(8).toString('hex')}`, name };
    this.#contexts.set(context.id, context);
    return { Id: context.id, Name: name, State: 'available' };
  }

  require(id: string): Context {
    const context = this.#contexts.get(id);
    if (context === undefined) throw notFound();
    return context;
  }

  async download({ id, handle }: BackingSandbox, data: PersistenceData): Promise<void> {
    const context = this.require(data.ContextId);
    this.#mounted.set(id, { context, data, task: 'download', looksLeft: 1 });
    await handle.commands.run(['mkdir', '-p', data.Path]);
    if (context.files !== undefined)
      await handle.commands.run(['tar', '-xf', '-', '-C', data.Path], { stdin: context.files });
  }

  async upload({ id, handle }: BackingSandbox): Promise<void> {
    const mounted = this.#mounted.get(id);
    if (mounted === undefined) return;
    const chunks: Uint8Array[] = [];
    await handle.commands.run(['tar', '-cf', '-', '-C', mounted.data.Path, '.'], {
      onStdout: (chunk) => void chunks.push(Uint8Array.from(chunk)),
    });
    mounted.context.files = Buffer.concat(chunks);
    mounted.task = 'upload';
    mounted.looksLeft = 1;
  }

  /** The service brings files out by itself some time after this; whoever wants them in the next session does it before. */
  released({ id }: BackingSandbox): void {
    this.#mounted.delete(id);
  }

  /** JSON in JSON, as the service has it. */
  status({ id }: BackingSandbox): string {
    const mounted = this.#mounted.get(id);
    if (mounted === undefined) return '';
    const isDone = mounted.looksLeft-- <= 0;
    const task = {
      contextId: mounted.context.id,
      path: mounted.data.Path,
      taskType: mounted.task,
      status: isDone ? 'Success' : 'Running',
      errorMessage: '',
    };
    return JSON.stringify([{ type: 'data', data: JSON.stringify([task]) }]);
  }
}

function notFound(): CodedRefusal {
  return new CodedRefusal(400, 'InvalidContext.NotFound', 'Resource [Context] is not found.');
}
