/** What the engine itself runs in a sandbox: the health check, and a question before files are carried over. */
export const ENGINES_OWN: readonly string[] = ['echo sublet', 'command -v tar'];
