/** What a person sees: the same command line on a real terminal. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { requirement } from '../setup/requirements.ts';
import { Installation, MAIN } from './installation.ts';
import { Tmux } from './tmux.ts';

const hasTmux = await requirement('tmux');
const hasNamespaces = await requirement('namespace');

let sublet: Installation;
let terminal: Tmux;

beforeAll(async () => {
  sublet = await Installation.create();
});

afterAll(() => sublet.remove());

describe.runIf(hasTmux)('on a terminal', () => {
  beforeEach(async () => {
    terminal = await Tmux.open(sublet.env(), sublet.files, MAIN);
  });

  afterEach(() => terminal.close());

  it('asks for a key without showing it', async () => {
    await terminal.type('sublet config set SOME_KEY; echo status $?');
    await terminal.waitFor('Value for SOME_KEY');
    await terminal.type('hidden_value');
    const screen = await terminal.waitFor('status 0');
    expect(screen).not.toContain('hidden_value');
    expect(await readFile(path.join(sublet.home, 'config.env'), 'utf8')).toBe('SOME_KEY=hidden_value\n');
  });

  it('uses colours there and nowhere else', async () => {
    await terminal.type('sublet nonsense; sublet nonsense 2> plain; NO_COLOR=1 sublet nonsense; echo done');
    await terminal.waitFor(/^done$/m);
    const coloured = (await terminal.screen({ colours: true })).split('\n').filter((line) => line.includes('USAGE'));
    expect(coloured.map((line) => line.includes('\u001b[31mUSAGE'))).toEqual([true, false]);
    expect(await readFile(path.join(sublet.files, 'plain'), 'utf8')).not.toContain('\u001b');
  });

  describe.runIf(hasNamespaces)('with a sandbox', () => {
    it('gives the command a terminal of the same size', async () => {
      await terminal.type("sublet run -- sh -c 'test -t 0 && test -t 1 && stty size; exit 5'; echo status $?");
      expect(await terminal.waitFor('status 5')).toContain('30 100');
    });

    it('opens a shell that follows the window and takes Ctrl-C itself', async () => {
      await terminal.type('sublet shell; echo status $?');
      await terminal.type('echo $((6 * 7)) inside');
      // A key between two states of the terminal is lost.
      await terminal.waitFor(/^42 inside\n.*[$#]$/m);
      await terminal.type(`sh -c 'echo as""leep; exec sleep 600'`);
      await terminal.waitFor(/^asleep$/m);
      await terminal.press('C-c');
      await terminal.waitFor(/\^C\n.*[$#]$/m);
      await terminal.type('echo still $((1 + 1))');
      await terminal.waitFor('still 2');
      await terminal.resize(80, 24);
      await terminal.type('stty size');
      await terminal.waitFor('24 80');
      await terminal.type('exit 7');
      await terminal.waitFor('status 7');
      // The outer terminal is as it was: it echoes and edits lines again.
      await terminal.type('stty -a | grep -o -w -e -echo -e -icanon -e echo -e icanon | sort | tr "\\n" " "; echo end');
      await terminal.waitFor(/^echo icanon end$/m);
      expect(await sublet.output(['ls', '--quiet'])).toBe('');
    });

    it.each([
      ['C-c', 'INT'],
      ['C-\\', 'QUIT'],
    ])('leaves %s to the command and tells how that ended', async (key, signal) => {
      await terminal.type(
        `sublet run -- sh -c 'trap "echo heard" ${signal}; echo begun; read -r x; exit 7'; echo status $?`,
      );
      await terminal.waitFor(/^begun$/m);
      await terminal.press(key);
      await terminal.waitFor(/heard$/m);
      await terminal.press('Enter');
      await terminal.waitFor('status 7');
      await terminal.type(`clear; sublet run -- sh -c 'echo begun; exec sleep 600'; echo status $?`);
      await terminal.waitFor(/^begun$/m);
      await terminal.press(key);
      await terminal.waitFor(signal === 'INT' ? 'status 130' : 'status 131');
      expect(await sublet.output(['ls', '--quiet'])).toBe('');
    });

    it('does not ask about what is not there', async () => {
      await terminal.type('sublet rm sbx_nothing; echo status $?');
      expect(await terminal.waitFor('status 66')).toContain('SANDBOX_NOT_FOUND');
    });

    it('asks before it destroys, and no means no', async () => {
      const id = await sublet.output(['new']);
      await terminal.type(`sublet rm ${id}; echo status $?`);
      await terminal.waitFor(`Destroy ${id}`);
      await terminal.press('n');
      await terminal.waitFor('status 1');
      expect(await sublet.output(['ls', '--quiet'])).toBe(id);
      await terminal.type(`clear; sublet destroy-all-sessions; echo status $?`);
      await terminal.waitFor("Destroy every session's sandbox");
      await terminal.press('y');
      await terminal.waitFor('status 0');
      expect(await sublet.output(['ls', '--quiet'])).toBe('');
    });

    it('stops on Ctrl-C and leaves no sandbox', async () => {
      await terminal.type('sublet run --json -- sleep 600; echo status $?');
      await expect.poll(() => sublet.output(['ls', '--quiet']), { timeout: 20_000 }).toMatch(/^sbx_/);
      await terminal.press('C-c');
      await terminal.waitFor('status 130');
      expect(await sublet.output(['ls', '--quiet'])).toBe('');
    });
  });
});
