/** The server's URL: checked before anything is opened, and shown without what is secret in it. */
import { SubletError } from '../../core/errors.ts';

/** `postgres://user@host:port/database`: no password and no options. CONFIG_INVALID when it is not such a URL. */
export function describeServer(url: string): string {
  const parsed = parse(url);
  const user = parsed.username === '' ? '' : `${parsed.username}@`;
  return `${parsed.protocol}//${user}${parsed.host}${parsed.pathname}`;
}

function parse(url: string): URL {
  // The parser's own error holds the whole URL, so it is nobody's cause.
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed !== undefined && /^postgres(ql)?:$/.test(parsed.protocol)) return parsed;
  throw new SubletError(
    'CONFIG_INVALID',
    'The store’s URL is not of the form postgres://user:password@host:port/database.',
    {
      hint: 'Escape @, :, / and % in the password as %40, %3A, %2F and %25.',
    },
  );
}
