/** The name servers that a sandbox with an open network asks. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The host's, without those that only its own loopback reaches; then those that its local resolver asks itself. */
export async function writeResolvConf(dir: string): Promise<string> {
  const texts = await Promise.all(
    ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'].map((path) => readFile(path, 'utf8').catch(() => '')),
  );
  const usable = texts.map((text) => text.split('\n').filter((line) => !/^\s*nameserver\s+(127\.|::1)/u.test(line)));
  const chosen = usable.find((lines) => lines.some((line) => line.startsWith('nameserver'))) ?? usable[0] ?? [];
  const path = join(dir, 'resolv.conf');
  await writeFile(path, chosen.join('\n'), { mode: 0o644 });
  return path;
}
