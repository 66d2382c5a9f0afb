/** Images that lack what most have, made here and imported into a real engine. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dockerHost, requirement } from '../setup/requirements.ts';
import { openProvider, signal, specFor } from './providers.ts';

const run = promisify(execFile);
const host = dockerHost() ?? '';
const MIB = 1024 * 1024;

// The shell with the libraries it needs, and no other program.
const SHELL_ALONE = `
mkdir -p "$1/bin" "$1/tmp"
shell=$(readlink -f "$(command -v dash)")
cp "$shell" "$1/bin/sh"
for library in $(ldd "$shell" | grep -o '/[^ ]*'); do mkdir -p "$1\${library%/*}"; cp -L "$library" "$1$library"; done
`;
const NAMED_USER = `
mkdir -p "$1/bin" "$1/etc"; mkdir -m 1777 "$1/tmp"
cp "$(command -v busybox)" "$1/bin/busybox"
for name in $(busybox --list); do [ -e "$1/bin/$name" ] || ln -s busybox "$1/bin/$name"; done
echo 'worker:x:4321:4322::/:/bin/sh' >"$1/etc/passwd"
`;

describe.runIf(await requirement('docker'))('an image', () => {
  let dir = '';
  const images: string[] = [];
  beforeAll(async () => void (dir = await mkdtemp(path.join(tmpdir(), 'sublet-images-'))));
  afterAll(async () => {
    if (images.length > 0) await run('docker', ['--host', host, 'rmi', '--force', ...images]);
    await rm(dir, { recursive: true, force: true });
  });

  async function imageOf(script: string, ...changes: readonly string[]): Promise<string> {
    const image = `sublet-image-${crypto.randomUUID().slice(0, 8)}:test`;
    const root = path.join(dir, image.slice(0, -5));
    const words = changes.map((change) => `--change '${change}'`).join(' ');
    const made = `set -e\n${script}\ntar --create --directory "$1" . | docker --host "$2" import ${words} - "$3"`;
    await run('sh', ['-c', made, 'sh', root, host, image]);
    images.push(image);
    return image;
  }

  it('with a shell and nothing else runs commands, and says what is missing for the rest', async () => {
    const image = await imageOf(SHELL_ALONE);
    const { commands, files } = await (await openProvider({ host })).create(specFor(image), signal);
    expect((await commands.run('echo $0 $((6 * 7)); exit 3')).exitCode).toBe(3);
    expect((await commands.run('while read -r line; do echo "<$line>"; done', { stdin: 'a\nb\n' })).stdout).toBe(
      '<a>\n<b>\n',
    );
    const slow = await commands.run('while :; do :; done', { timeoutMs: 300 });
    expect(slow).toMatchObject({ timedOut: true, exitCode: null });
    const names = (program: string): unknown => ({
      message: expect.stringContaining(`${program}: not found`) as string,
    });
    await expect(files.write('small', 'x')).rejects.toMatchObject(names('mkdir') as object);
    await expect(files.readText('/bin/sh')).rejects.toMatchObject(names('cat') as object);
    await expect(files.list('/')).rejects.toMatchObject(names('stat') as object);
    await expect(commands.start('echo x')).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(/need the program [a-z]+, which/) as string,
    });
  });

  it('that names its own user runs as them, and they own the working directory and their files', async () => {
    const image = await imageOf(NAMED_USER, 'USER worker');
    const provider = await openProvider({ host });
    const { commands, files } = await provider.create(specFor(image), signal);
    await files.write('small', 'x');
    await files.write('large', Buffer.alloc(2 * MIB, 1));
    const { stdout } = await commands.run('id -u; id -g; stat -c %u:%g . small large');
    expect(stdout).toBe('4321\n4322\n4321:4322\n4321:4322\n4321:4322\n');
    // An ordinary user has no capability at all.
    expect((await commands.run('grep CapEff /proc/self/status')).stdout).toMatch(/^CapEff:\t0+\n$/);
    await expect(files.write('/bin/large', Buffer.alloc(2 * MIB))).rejects.toMatchObject({ code: 'FILE_FAILED' });
  });

  it('whose user it does not know is refused with the name', async () => {
    const image = await imageOf(NAMED_USER);
    const creating = (await openProvider({ host, user: 'nobody-knows' })).create(specFor(image), signal);
    await expect(creating).rejects.toMatchObject({ message: expect.stringContaining('nobody-knows') as string });
    expect((await run('docker', ['--host', host, 'ps', '-aq', '--filter', `ancestor=${image}`])).stdout).toBe('');
  });
});
