/**
 * The scripts by which a program's streams travel over a service that runs a script and answers with what it wrote.
 *
 * Output goes through FIFOs in the sandbox, so the program waits when nobody takes it. The script that starts the program
 * stays until it has ended, writes a trailer behind the output, and brings both along if nobody has begun to take them;
 * whoever is first to make `<token>.a` or `<token>.b` takes that stream. All that is answered is base64.
 *
 * A service that ends every call after a while is answered before that: `letGoScript` lets the waiting one go, and what it
 * did goes on behind it, for `waitCallScript` to bring. Whoever takes a stream that is silent is let go by a mark in it.
 */

/** The exit status of a script that lacks a program or a place for its files. */
export const CANNOT_CALL = 97;
/** The exit status of a script that found nothing: the program has not been started yet, or has ended. */
export const NOTHING_THERE = 96;
/** The exit status of a script that comes too late: the program has ended, or somebody else takes the stream. */
export const TOO_LATE = 98;

/** The exit status of a script whose input has not all been read yet. */
export const NOT_YET = 95;
/** What is answered by a script that was let go. */
export const LET_GO = '!';
/** The text of the trailer that ends nothing. */
export const SILENT = 'silent';

const DIRECTORY = '"${SUBLET_TMPDIR:-/tmp}"/.sublet/calls';
const PIPE_BYTES = 65_536;
/** So many pipes full are brought at once, when they come in quick succession. */
const PIPES_AT_ONCE = 16;
const ENTER = `exec 2>/dev/null
umask 077
[ -d ${DIRECTORY} ] || mkdir -p ${DIRECTORY}
cd ${DIRECTORY} || exit ${CANNOT_CALL}
`;

export type CalledStream = 'stdout' | 'stderr';
const FILES = { stdout: { pipe: 'o', claim: 'a' }, stderr: { pipe: 'e', claim: 'b' } } as const;

export interface StartCall {
  /** Random, unlike any other. */
  readonly token: string;
  /** A simple command for `sh`: the program and its words. */
  readonly words: string;
  /** Lines that set the program's variables. */
  readonly exports: string;
  readonly stdin: boolean;
  /** All of its input, as base64: none will be fed then. */
  readonly input?: string | undefined;
  /** It can be let go. */
  readonly isBrief: boolean;
}

/** Input as base64, or the word for a file in the sandbox that holds it and is removed. */
export type CallInput = { readonly encoded: string; readonly file?: undefined } | { readonly file: string };

/** Answers `oe`, `o`, `e` or nothing, a space, and the base64 of the streams it has taken, in this order. */
export function startCallScript({ token, words, exports, stdin, input, isBrief }: StartCall): string {
  const pipes = [
    'o',
    'e',
    'g',
    ...(isBrief ? ['r'] : []),
    ...(stdin ? ['k', 'i'] : []),
    ...(isBrief && stdin ? ['n'] : []),
  ];
  const source = input === undefined ? `exec <${stdin ? `${token}.i` : '/dev/null'}\n` : '';
  const program = `${input === undefined ? '' : "base64 -d <<'END' 3>&- 4>&- 5>&- 8>&- | "}( umask 022
${input === undefined ? '' : `${input}\nEND\n`}${exports}${source}exec >&3 2>&4 3>&- 4>&- 5>&- 8>&-
exec $session ${words} )`;
  return `${ENTER}command -v base64 >/dev/null && command -v dd >/dev/null || exit ${CANNOT_CALL}
mkfifo ${pipes.map((pipe) => `${token}.${pipe}`).join(' ')} || exit ${CANNOT_CALL}
exec 3<>${token}.o 4<>${token}.e 5<>${token}.g${isBrief ? ` 8<>${token}.r` : ''}
trap : HUP INT QUIT TERM USR1 USR2
session=; command -v setsid >/dev/null && session=setsid
${stdin ? holdInput(token) : ''}${
    isBrief
      ? `finish() {\n${finish(token, stdin)}}\n${awaitBriefly(token, program)}finish\n`
      : `${program}\nstatus=$?\n${finish(token, stdin)}`
  }rm -f ${token}.*
exit 0
`;
}

/**
 * Somebody holds the input open until it is ended, however many feed it. The end is open before `<token>.h` tells them to begin:
 * the first of them to leave would end it otherwise. It opens at once because it is open for reading too, which nobody
 * inherits: who feeds would take that for the program.
 */
function holdInput(token: string): string {
  return `exec 6<>${token}.i 7>${token}.i 6>&-
( exec >/dev/null 3>&- 4>&- 5>&- 8>&-; read line <${token}.k ) &
exec 7>&-
: >${token}.h
`;
}

/** Writes the trailers, answers with the streams that nobody takes, and waits until the others have been taken. */
function finish(token: string, stdin: boolean): string {
  const trailer = trailerOf(token, '$status');
  const take = (fd: number): string => `dd bs=${PIPE_BYTES * 2} count=1 <&${fd}`;
  return `${stdin ? `exec 6<>${token}.i 7<>${token}.k; rm -f ${token}.[hik]; exec 6>&- 7>&-\n` : ''}printf ${trailer} >&3
printf ${trailer} >&4
set -C; taken=
true >${token}.a && taken=o
true >${token}.b && taken=\${taken}e
printf '%s ' "$taken"
case $taken in
oe) { ${take(3)}; exec ${take(4)}; } | base64 ;;
o) ${take(3)} | base64 ;;
e) ${take(4)} | base64 ;;
esac
[ "$taken" = oe ] || read line <&5
`;
}

/**
 * Waits for the program's end or to be let go. Only who waits for the program can write to the pipe that is read here, so
 * its own end is seen too. When it is let go, the rest is done behind it: whoever finds the answer removes all files, so the
 * pipe that tells of it is opened before. (The program ignores SIGINT, as what a shell has in the background does.)
 */
function awaitBriefly(token: string, program: string): string {
  return `( trap : HUP TERM USR1 USR2
${program}
echo $? >&8 ) >/dev/null &
exec 7<${token}.r; exec 8>&-
read status <&7
case $status in
'') rm -f ${token}.*; exit 0 ;;
late) mkfifo ${token}.w
  ( exec >/dev/null; read status <&7; [ -z "$status" ] || finish >${token}.d
  [ -p ${token}.w ] || { rm -f ${token}.*; exit 0; }
  : >>${token}.d; exec 9<>${token}.w; mv ${token}.d ${token}.f; echo >&9 ) &
  printf '${LET_GO}'; exit 0 ;;
esac
`;
}

/** Answers what the start would have, when it was let go before. */
export function waitCallScript(token: string): string {
  return `${ENTER}[ -p ${token}.w ] || exit ${NOTHING_THERE}
exec 9<>${token}.w
[ -f ${token}.f ] || read line <&9
[ -f ${token}.f ] || { printf '${LET_GO}'; exit 0; }
cat ${token}.f; rm -f ${token}.*
exit 0
`;
}

/** Whoever waits for the program's end answers now. */
export function letGoScript(token: string): string {
  return `${ENTER}for file in ${token}.w ${token}.r; do
  [ ! -p $file ] || { echo late 1<>$file; break; }
done
exit 0
`;
}

/** Whoever waits for the stream answers now. The mark is not the program's, and ends nothing. */
export function nudgeScript(token: string, stream: CalledStream): string {
  const file = `${token}.${FILES[stream].pipe}`;
  return `${ENTER}[ ! -p ${file} ] || printf ${trailerOf(token, SILENT)} 1<>${file}\nexit 0\n`;
}

/** Answers the base64 of what the stream has, and waits until it has something. `isFirst` claims the stream. */
export function takeCallScript(token: string, stream: CalledStream, isFirst: boolean): string {
  const { pipe, claim } = FILES[stream];
  const file = `${token}.${pipe}`;
  const begin = isFirst ? `${awaitStart(`-p ${file}`)}set -C; true >${token}.${claim} || exit ${TOO_LATE}\n` : '';
  // The program may have ended, and its files gone, since they were looked at.
  return `${ENTER}${begin}[ -p ${file} ] || { rm -f ${token}.${claim}; exit ${TOO_LATE}; }
exec 3<>${file}
export LC_ALL=C
{ count=0
while [ $count -lt ${PIPES_AT_ONCE} ]; do
  report=$(dd bs=${PIPE_BYTES} count=1 <&3 2>&1 >&6) || break
  case $report in 1+0*) count=$((count + 1)) ;; *) break ;; esac
done; } 6>&1 | base64
exit 0
`;
}

/** Ends with TOO_LATE when the program does not read on. It may take as long as the program does to read. */
export function feedCallScript(token: string, input: CallInput, isLast: boolean): string {
  const feed =
    input.file === undefined
      ? input.encoded === ''
        ? ''
        : `base64 -d >${token}.i <<'END' || exit ${TOO_LATE}\n${input.encoded}\nEND\n`
      : `cat ${input.file} >${token}.i; status=$?; rm -f ${input.file}; [ $status -eq 0 ] || exit ${TOO_LATE}\n`;
  // Where the pipe has gone since it was looked at, a file takes its place.
  return `${ENTER}${awaitStart(`-e ${token}.h`)}trap '' PIPE
trap '[ -p ${token}.i ] || rm -f ${token}.i' EXIT
${feed}${isLast ? `[ ! -p ${token}.k ] || : >${token}.k\n` : ''}exit 0
`;
}

/** Like `feedCallScript`, and ends with NOT_YET when it is let go before the program has read all: then `waitFeedScript` goes on. */
export function feedBrieflyScript(token: string, encoded: string): string {
  // Where the pipe has gone since it was looked at, a file takes its place.
  return `${ENTER}${awaitStart(`-e ${token}.h`)}trap '' PIPE
trap '[ -p ${token}.i ] || rm -f ${token}.i' EXIT
base64 -d >${token}.q <<'END' || exit ${TOO_LATE}\n${encoded}\nEND
[ -p ${token}.n ] || { rm -f ${token}.q; exit ${TOO_LATE}; }
exec 9<>${token}.n
( cat ${token}.q >${token}.i || [ ! -p ${token}.n ] || : >${token}.x; rm -f ${token}.q; echo >&9 ) >/dev/null &
read line <&9
${hasFed(token)}`;
}

export function waitFeedScript(token: string): string {
  // Opened before the look: what is told after it is heard.
  return `${ENTER}[ -p ${token}.n ] || exit ${TOO_LATE}
exec 9<>${token}.n
[ ! -e ${token}.q ] || read line <&9
${hasFed(token)}`;
}

/** Whoever waits until input has been read answers now. */
export function letFeedGoScript(token: string): string {
  return `${ENTER}[ ! -p ${token}.n ] || echo 1<>${token}.n\nexit 0\n`;
}

/** Both streams have been taken to their trailers. */
export function endCallScript(token: string): string {
  return `${ENTER}[ ! -p ${token}.g ] || echo 1<>${token}.g\nexit 0\n`;
}

/** The script that started the program is gone: nothing more will come, and who waits for it is let go. */
export function dropCallScript(token: string): string {
  return `${ENTER}for file in ${token}.[oegwn]; do [ ! -p $file ] || echo 1<>$file; done\nrm -f ${token}.*\nexit 0\n`;
}

/** Keeps one more piece of a script that is too long for one call. `encoded` is base64. */
export function keepCallScript(token: string, encoded: string): string {
  return `${ENTER}base64 -d >>${token}.s <<'END' || exit ${CANNOT_CALL}
${encoded}
END
`;
}

/** The words that run what `keepCallScript` has kept. */
export function keptWords(token: string): string {
  return `sh ${DIRECTORY}/${token}.s`;
}

function hasFed(token: string): string {
  return `[ ! -e ${token}.x ] || exit ${TOO_LATE}
[ ! -e ${token}.q ] || exit ${NOT_YET}
exit 0
`;
}

function trailerOf(token: string, text: string): string {
  return `'\\036%s:%s\\036%s' ${token} ${text} ${token}`;
}

/** Scripts that are sent together may arrive in any order. */
function awaitStart(isThere: string): string {
  return `tries=0; until [ ${isThere} ] || [ $tries -ge 50 ]; do sleep 0.02; tries=$((tries + 1)); done
[ ${isThere} ] || exit ${NOTHING_THERE}
`;
}
