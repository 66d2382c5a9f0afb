/** A working directory with everything that can be in one, and a listing of it that says all that must be the same elsewhere. */

export const MAKE_ODD_FILES = String.raw`
set -e
mkdir -p empty 'with space' deep/$(printf 'd%.0s' $(seq 60))/$(printf 'e%.0s' $(seq 60))
printf 'text' > 'with space/a file'
printf 'x' > "$(printf 'line\nbreak')"
printf 'x' > "$(printf 'not utf8 \377\376')"
printf 'x' > ./-rf
printf 'x' > 'quote"and'\''both'
printf 'x' > 'späte Grüße 🦊'
printf 'x' > .hidden
printf 'long' > deep/$(printf 'd%.0s' $(seq 60))/$(printf 'e%.0s' $(seq 60))/$(printf 'f%.0s' $(seq 250))
: > none
ln -s 'with space/a file' link
ln -s /nowhere/at/all dangling
ln -s $(printf 'long/%.0s' $(seq 40)) long-link
printf 'shared' > one-name
ln one-name other-name
mkfifo pipe
chmod 0755 none
chmod 0600 .hidden
chmod 2750 empty
chmod 4711 one-name
truncate -s 3000000 sparse
printf 'end' >> sparse
head -c 5000000 /dev/urandom > random
`;

/** Kind, mode, size, where links lead, content and name, in the order of names. */
export const LIST_FILES = String.raw`
find . -mindepth 1 -print0 | LC_ALL=C sort -z | while IFS= read -r -d '' name; do
  if [ -L "$name" ]; then printf 'link %s ' "$(readlink "$name")"
  elif [ -f "$name" ]; then printf '%s %s ' "$(stat -c '%a %s %h %Y' "$name")" "$(sha256sum < "$name")"
  else printf '%s ' "$(stat -c '%F %a' "$name")"; fi
  printf '%s\n' "$name" | od -An -c | tr -d '\n'; echo
done`;
