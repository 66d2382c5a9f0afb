/** The first choice when nobody names a sandbox. It is not probed here: a create that fails says why. */
export function automaticProvider(platform: NodeJS.Platform): string {
  return platform === 'linux' ? 'namespace' : 'docker';
}
