/**
 * The host-side script that runs one background command, so that neither the command nor its output depends on the
 * manager's life. It works in the command's own directory, which the sandbox cannot see:
 *
 *   meta.json            who and what, written before anything starts
 *   runner               the script's boot id and /proc stat line: whether it still lives; written when the command is tagged
 *   stdout.N, stderr.N   output by absolute offset; the newest few MiB are kept
 *   stdout.end, …        all of it is there
 *   stdout.failed, …     no more could be written, as on a full disk: what came after the last byte that is there is lost
 *   stdin                a FIFO, held open by the script until SIGUSR1
 *   killed, timed-out    why it was ended, if it was
 *   exit                 the exit status, written last
 */
import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import type { Clock } from '../../core/clock.ts';
import { SubletError } from '../../core/errors.ts';
import { KEPT_SEGMENTS, SEGMENT_BYTES } from './command-log.ts';
import { readRunner } from './command-record.ts';
import { until } from './directory-watch.ts';
import { withoutInherited } from './inherited-descriptors.ts';
import type { LaunchLine } from './launch-line.ts';
import type { ProcessTag } from './process-tree.ts';
import { shellExports } from './shell-quote.ts';
import { ownTurn } from './own-turn.ts';

export interface RunnerOptions {
  readonly dir: string;
  readonly line: LaunchLine;
  readonly tag: ProcessTag;
  readonly stdin: boolean;
  readonly timeoutMs: number | undefined;
}

/** Whole and partial reads alike are written at once; dd counts either as a record and stops before the count only at the end. */
const RECORDS = 64;
const RECORD_BYTES = 16 * 1024;

// $1 tag, $2 seconds until the time-out or empty, $3 "stdin" or empty, then the launch line.
// Descriptor 3 brings the launch line's environment and 4 its input.
export const RUNNER_SCRIPT: string = `
umask 077
tag=$1 limit=$2 input=$3; shift 3
exports=$(cat <&3); exec 3<&-
case $exports in *'#complete') ;; *) exit 1 ;; esac
trap '' HUP INT PIPE
closing=; trap 'closing=1; exec 5>&-' USR1
pump() {
  start=0 end=0 kept=
  while :; do
    report=$(LC_ALL=C dd bs=${RECORD_BYTES} count=${RECORDS} of="$1.$start" oflag=append conv=notrunc 2>&1) || break
    records=\${report%% records in*}; records=\${records##*[!0-9+]}
    case $report in
      *byte*) written=\${report#*out}; written=\${written%% byte*}; end=$((end + \${written##*[!0-9]})) ;;
      # Some builds of busybox do not say how many.
      *) written=$(wc -c <"$1.$start") || break; end=$((start + written)) ;;
    esac
    if [ $(( \${records%+*} + \${records#*+} )) -lt ${RECORDS} ]; then : >"$1.end"; return; fi
    if [ $((end - start)) -ge ${SEGMENT_BYTES} ]; then
      kept="$kept $start" start=$end
      set -- "$1" $kept
      if [ $# -gt ${KEPT_SEGMENTS} ]; then rm -f "$1.$2"; name=$1; shift 2; kept="$*"; set -- "$name"; fi
    fi
  done
  # Empty: a full disk has room for a name. Where it has none either, ":" would end this shell and so the command.
  true >"$1.failed"
  cat >/dev/null
}
kill_tree() {
  round=0
  while [ $round -lt 50 ]; do
    found=
    for limits in $(grep -l "^Max file locks  *$tag " /proc/[0-9]*/limits 2>/dev/null); do
      pid=\${limits#/proc/}; pid=\${pid%/limits}
      read -r line 2>/dev/null </proc/$pid/stat || continue
      case \${line##*)} in ' Z'*|' X'*) continue ;; esac
      kill -KILL $pid 2>/dev/null && found=1
    done
    [ -n "$found" ] || return
    sleep 0.02; round=$((round + 1))
  done
}
watchdog() {
  trap 'kill $sleeper; exit' TERM
  sleep "$limit" & sleeper=$!
  wait $sleeper
  trap '' TERM
  # Not ":", which would end this shell where nothing can be written, and leave the command running.
  true >timed-out
  kill_tree
}
mkfifo -m 622 out err || exit
pump stdout <out & pump stderr <err &
exec 8>out 9>err
rm -f out err
if [ -n "$input" ]; then mkfifo -m 622 stdin || exit; exec 5<>stdin 6<stdin; else exec 6</dev/null; fi
read -r boot </proc/sys/kernel/random/boot_id; read -r stat </proc/$$/stat
( ulimit -S -w $tag 2>/dev/null || ulimit -S -x $tag 2>/dev/null
  printf '%s\\n%s\\n' "$boot" "$stat" >runner
  exec <&6 >&8 2>&9 3<&4 4<&- 5<&- 6<&- 8>&- 9>&-; trap - HUP INT PIPE USR1; umask 022; eval "$exports"; unset exports; exec "$@" ) &
child=$!
exec 4<&- 6<&- 8>&- 9>&-
unset exports
guard=
if [ -n "$limit" ]; then watchdog 5>&- & guard=$!; fi
while :; do closing=; wait $child; status=$?; [ -n "$closing" ] && [ $status -eq 138 ] || break; done
[ -n "$guard" ] && { kill $guard 2>/dev/null; wait $guard; }
tries=0
is_over() { [ -e $1.end ] || [ -e $1.failed ]; }
until is_over stdout && is_over stderr || [ $tries -ge 10 ]; do sleep 0.02; tries=$((tries + 1)); done
printf '%s\\n' "$status" >exit
`;

/** Resolves when the command has been started and the script has all that it needs to go on alone. */
export async function startRunner(options: RunnerOptions, clock: Clock): Promise<void> {
  const { dir, line, tag } = options;
  const seconds = options.timeoutMs === undefined ? '' : (options.timeoutMs / 1000).toFixed(3);
  const directory = line.cwd ?? '/';
  const exports = `unset PATH LC_ALL\n${shellExports(line.env)}`;
  const enter = ['/bin/sh', '-c', 'cd -- "$1" || exit 126; shift; exec "$@"', 'sh', directory, line.file, ...line.args];
  const stdio = withoutInherited(['ignore', 'ignore', 'ignore', 'pipe', 'pipe']);
  await ownTurn();
  const child = spawn(
    '/bin/sh',
    ['-c', RUNNER_SCRIPT, 'sublet-command', tag, seconds, options.stdin ? 'stdin' : '', ...enter],
    {
      cwd: dir,
      detached: true,
      env: { PATH: process.env['PATH'] ?? '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
      stdio,
    },
  );
  let failure: SubletError | undefined;
  child.once(
    'error',
    (cause) =>
      (failure = new SubletError('PROVIDER_UNUSABLE', `/bin/sh could not be started: ${cause.message}`, { cause })),
  );
  child.once(
    'exit',
    () =>
      (failure = new SubletError('PROVIDER_UNUSABLE', `The runner of a background command ended at once, in ${dir}.`)),
  );
  child.unref();
  await Promise.all([send(child.stdio[3], `${exports}#complete`), send(child.stdio[4], line.input ?? '')]);
  await until(dir, clock, async () => {
    if (await readRunner(dir)) return true;
    if (failure !== undefined) throw failure;
    return undefined;
  });
}

/** Resolves when the kernel has it all: the reader gets it even if this process ends now. */
function send(stream: unknown, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (!(stream instanceof Socket)) return resolve();
    stream.on('error', () => resolve());
    stream.end(text, () => {
      // The other end stays open as long as the command runs, and would keep this process alive as long.
      stream.destroy();
      resolve();
    });
  });
}
