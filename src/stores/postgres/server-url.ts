/** The server's URL: checked before anything is opened, and shown without what is secret in it. */
import { SubletError } from '../../core/errors.ts';
import { shownUrl } from '../../core/shown-url.ts';

/** `postgres://user@host:port/database`. CONFIG_INVALID when it is not such a URL. */
export function describeServer(url: string): string {
  // Asked first, because the parser's own error holds the whole URL.
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed !== undefined && /^postgres(ql)?:$/.test(parsed.protocol)) return shownUrl(parsed);
  throw new SubletError(
    'CONFIG_INVALID',
    'The store’s URL is not of the form postgres://user:password@host:port/database.',
    { hint: 'Escape @, :, / and % in the password as %40, %3A, %2F and %25.' },
  );
}
