/** Builds after `npm ci` in a clone. An install without the dev dependencies has nothing to build with, and that is no error. */
import { execFileSync } from 'node:child_process';

try {
  import.meta.resolve('typescript');
} catch {
  process.stdout.write('sublet: not built, because the dev dependencies are not installed\n');
  process.exit(0);
}
execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit', shell: process.platform === 'win32' });
