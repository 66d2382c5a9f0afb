/** A URL as it may be shown and logged: without password, options and fragment. */
export function shownUrl({ protocol, username, host, pathname }: URL): string {
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`;
}
