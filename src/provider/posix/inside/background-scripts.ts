/**
 * The scripts of background commands. Everything about one is in a directory of its own inside the sandbox, so that any
 * process finds it: the files are those of `RUNNER_SCRIPT`. They run with the programs that such a runner needs anyway.
 */
import type { OutputStream } from '../../../core/commands.ts';
import type { CommandId } from '../../../core/ids.ts';
import { RUNNER_SCRIPT } from '../command-runner.ts';
import type { ProcessTag } from '../process-tree.ts';
import { shellQuote } from '../shell-quote.ts';
import { KILL_TREE } from './kill-tree.ts';

// What has no /tmp of its own, such as a directory of this machine that stands for a sandbox, names another place.
const COMMANDS_DIR = '"${SUBLET_TMPDIR:-/tmp}"/.sublet/commands';
/** Finished commands are kept until this many newer ones have been started. */
const KEPT_COMMANDS = 32;
/** The exit status of a script that lacks a program. */
export const TOOL_MISSING = 97;
/** The exit status of a script for a command that is not there. */
export const COMMAND_MISSING = 98;

const ENTER = 'sublet_script=$(cat <&3); exec 3<&-; eval "unset sublet_script; $sublet_script"';

// Prints meta, exit status, signal sent, timed out, and whether the runner lives: y, n, or s before it has said so.
const FACTS = `
facts() {
  meta= status= killed= timed= alive=s
  IFS= read -r meta <meta.json || return 1
  [ -f exit ] && read -r status <exit
  [ -f killed ] && read -r killed <killed
  [ -f timed-out ] && timed=y
  if [ -s runner ]; then
    alive=n
    { read -r boot; IFS= read -r was; } <runner
    read -r now </proc/sys/kernel/random/boot_id
    if [ "$boot" = "$now" ] && { IFS= read -r is </proc/\${was%% *}/stat; } 2>/dev/null; then
      set -- \${was##*)}; began=\${20}
      set -- \${is##*)}
      case $1 in Z|X) ;; *) [ "$began" = "\${20}" ] && alive=y ;; esac
    fi
  fi
  # It may have ended between the two looks.
  [ $alive = n ] && [ -z "$status" ] && [ -f exit ] && read -r status <exit
  printf '%s\\0%s\\0%s\\0%s\\0%s\\0' "$meta" "$status" "$killed" "$timed" "$alive"
}
`;

const PRUNE = `
set -- $(ls -t)
while [ $# -gt ${KEPT_COMMANDS} ]; do
  eval "oldest=\\\${$#}"
  [ -f "$oldest/exit" ] && rm -rf "$oldest"
  set -- $(ls -t | head -n $(($# - 1)))
done
`;

export interface StartScript {
  readonly id: CommandId;
  /** One line of JSON. */
  readonly meta: string;
  readonly tag: ProcessTag;
  readonly timeoutMs: number | undefined;
  readonly stdin: boolean;
  /** What the command's shell is given. It may hold secrets, so it goes through a pipe. */
  readonly script: string;
}

/** Ends when the command has been started and no longer needs us. */
export function startScript(start: StartScript): string {
  const seconds = start.timeoutMs === undefined ? '' : (start.timeoutMs / 1000).toFixed(3);
  const end = `SUBLET_${start.tag}`;
  const runner = [
    RUNNER_SCRIPT,
    'sublet-command',
    start.tag,
    seconds,
    start.stdin ? 'stdin' : '',
    'sh',
    '-c',
    ENTER,
    'sh',
  ];
  return `${enterScript(start)}
sh -c ${runner.map(shellQuote).join(' ')} </dev/null >/dev/null 2>&1 3<<'${end}_ENV' 4<<'${end}' &
#complete
${end}_ENV
${start.script}
${end}
tries=0
until [ -s runner ] || [ $tries -ge 500 ]; do sleep 0.01; tries=$((tries + 1)); done
[ -s runner ]
`;
}

/** Makes the command's directory and enters it. */
export function enterScript({ id, meta }: Pick<StartScript, 'id' | 'meta'>): string {
  return `umask 077
for tool in dd mkfifo cat rm mkdir ls sleep head tail; do
  command -v $tool >/dev/null || { echo "$tool" >&2; exit ${TOOL_MISSING}; }
done
mkdir -p ${COMMANDS_DIR} && cd ${COMMANDS_DIR} || exit 1
${PRUNE}
mkdir ${id} && cd ${id} || exit 1
printf '%s\\n' ${shellQuote(meta)} >meta.new && mv meta.new meta.json`;
}

export function factsScript(id: CommandId): string {
  return `${inDirectory(id)}${FACTS}facts`;
}

export const LIST_SCRIPT: string = `
cd ${COMMANDS_DIR} 2>/dev/null || exit 0
${FACTS}
for dir in cmd_*; do ( cd "$dir" 2>/dev/null && facts ); done
exit 0
`;

/** The facts, then where the segments around the cursor begin, then the data: what is there when the facts are taken is in it. */
export function readScript(id: CommandId, stream: OutputStream, cursor: number, maxBytes: number): string {
  return `${inDirectory(id)}${FACTS}facts
first= start= next= from=${cursor}
for file in ${stream}.[0-9]*; do
  at=\${file#*.}
  [ -f "$file" ] || continue
  if [ -z "$first" ] || [ $at -lt $first ]; then first=$at; fi
done
if [ -n "$first" ] && [ $from -lt $first ]; then from=$first; fi
for file in ${stream}.[0-9]*; do
  at=\${file#*.}
  [ -f "$file" ] || continue
  if [ $at -le $from ]; then
    if [ -z "$start" ] || [ $at -gt $start ]; then start=$at; fi
  elif [ -z "$next" ] || [ $at -lt $next ]; then next=$at; fi
done
printf '%s\\0%s\\0' "$from" "$next"
[ -z "$start" ] || tail -c +$((from - start + 1)) ${stream}.$start 2>/dev/null | head -c ${maxBytes}
exit 0
`;
}

/** Ends with 3 when the input is closed. `encoded` is for printf's %b. */
export function writeStdinScript(id: CommandId, encoded: string): string {
  return `${inDirectory(id)}
[ ! -e exit ] && [ ! -e stdin.closed ] && [ -p stdin ] || exit 3
trap '' PIPE
printf %b '${encoded}' 2>/dev/null >stdin || exit 3
`;
}

export function closeStdinScript(id: CommandId): string {
  return `${inDirectory(id)}
: >stdin.closed
[ ! -e exit ] && [ -s runner ] || exit 0
{ read -r boot; IFS= read -r was; } <runner
kill -USR1 \${was%% *} 2>/dev/null
exit 0
`;
}

/** Noted before the kill, so that the exit status can be told from an exit of the same number. */
export function killScript(id: CommandId, tag: ProcessTag, signal: string): string {
  return `${inDirectory(id)}
[ -e exit ] || { echo ${signal} >killed.new && mv killed.new killed; }
set -- ${tag} ${signal.replace(/^SIG/, '')}
${KILL_TREE}`;
}

/** Gives the terminal of the command another size. */
export function resizeScript(id: CommandId, cols: number, rows: number): string {
  return `${inDirectory(id)}
tries=0
until [ -s runner ] || [ $tries -ge 200 ]; do sleep 0.01; tries=$((tries + 1)); done
{ read -r boot; IFS= read -r was; } <runner && stty cols ${cols} rows ${rows} <"/proc/\${was%% *}/fd/0" 2>/dev/null
`;
}

/** What the process that holds a terminal knows of it. */
export function endScript(id: CommandId, status: number | null, isTimedOut: boolean): string {
  const timedOut = isTimedOut ? ': >timed-out\n' : '';
  return `${inDirectory(id)}${timedOut}${status === null ? '' : `echo ${status} >exit.new && mv exit.new exit`}`;
}

function inDirectory(id: CommandId): string {
  return `cd ${COMMANDS_DIR}/${id} 2>/dev/null || exit ${COMMAND_MISSING}\n`;
}
