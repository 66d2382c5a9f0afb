/** Scripts that print facts about files as NUL-separated fields, and the parser of what they print. */
import type { FileInfo, FileKind } from '../../core/files.ts';

// Name, raw mode or kind letter, size, permissions, modification time, link target.
const PRINTF = `-printf '%f\\0%y\\0%s\\0%m\\0%T@\\0%l\\0'`;

export const FIND_STAT = `exec find "$1" -maxdepth 0 ${PRINTF}`;
const MUST_BE_DIRECTORY = '[ -d "$1" ] || [ ! -e "$1" ] || { echo "$1: Is no directory" >&2; exit 1; }';
// The slash and dot follow a link to a directory.
export const FIND_LIST = `${MUST_BE_DIRECTORY}
exec find "$1/." -mindepth 1 -maxdepth 1 ${PRINTF}`;

// The x keeps newlines at the end of a link's target, which $( ) would strip.
const PRINT_ONE = `
print_one() {
  facts=$(stat -c '%f %s %Y' -- "$1") || return
  target=; [ -L "$1" ] && { target=$(readlink -- "$1"; echo x); target=\${target%??}; }
  set -- "$1" $facts
  printf '%s\\0%s\\0%s\\0%s\\0%s\\0%s\\0' "\${1##*/}" "0x$2" "$3" - "$4" "$target"
}`;

export const PORTABLE_STAT = `${PRINT_ONE}
print_one "$1"`;
// A file that went away meanwhile is left out; without the program, all would be.
export const PORTABLE_LIST = `${PRINT_ONE}
${MUST_BE_DIRECTORY}
command -v stat >/dev/null || { echo 'stat: not found' >&2; exit 1; }
cd -- "$1" || exit
for file in ./* ./.[!.]* ./..?*; do
  if [ -e "$file" ] || [ -L "$file" ]; then print_one "$file"; fi
done`;

const FIELDS = 6;

export function parseFileInfos(output: Buffer, pathOf: (name: string) => string): FileInfo[] {
  const fields = output.toString('utf8').split('\0');
  const infos: FileInfo[] = [];
  for (let at = 0; at + FIELDS < fields.length; at += FIELDS) {
    infos.push(toFileInfo(fields.slice(at, at + FIELDS), pathOf));
  }
  return infos;
}

function toFileInfo(fields: readonly string[], pathOf: (name: string) => string): FileInfo {
  const [name = '', kindOrMode = '', size = '', permissions = '', modified = '', target = ''] = fields;
  const rawMode = kindOrMode.startsWith('0x') ? Number(kindOrMode) : undefined;
  const kind = rawMode === undefined ? kindOfLetter(kindOrMode) : kindOfMode(rawMode);
  return {
    name,
    path: pathOf(name),
    kind,
    sizeBytes: Number(size),
    mode: rawMode === undefined ? Number.parseInt(permissions, 8) : rawMode & 0o7777,
    modifiedAt: Math.floor(Number(modified) * 1000),
    target: kind === 'link' ? target : undefined,
  };
}

function kindOfLetter(letter: string): FileKind {
  if (letter === 'f') return 'file';
  if (letter === 'd') return 'directory';
  return letter === 'l' ? 'link' : 'other';
}

function kindOfMode(mode: number): FileKind {
  const type = mode & 0o170000;
  if (type === 0o100000) return 'file';
  if (type === 0o040000) return 'directory';
  return type === 0o120000 ? 'link' : 'other';
}
