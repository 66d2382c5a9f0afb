/** `sublet completion`: a script that teaches a shell our commands, options and the ids there are. */
import { defineCommand } from '../command.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const command = defineCommand({
  summary: 'print a completion script for a shell',
  arguments: [{ name: 'SHELL', choices: SHELLS }],
  options: {},
  examples: [
    ['sublet completion bash > ~/.local/share/bash-completion/completions/sublet', 'for bash'],
    ['sublet completion zsh > ~/.zfunc/_sublet', 'for zsh, with ~/.zfunc in fpath'],
    ['sublet completion fish > ~/.config/fish/completions/sublet.fish', 'for fish'],
  ],
  async run({ arguments: [shell = ''] }, { terminal }) {
    const { renderCompletion } = await import('../render/completion.ts');
    await terminal.write('stdout', await renderCompletion(shell as (typeof SHELLS)[number]));
    return 0;
  },
});
