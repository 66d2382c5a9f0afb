/** A head start for programs that know that a sandbox is wanted: its processes start while the engine is loaded. */
import { automaticProvider } from './automatic-provider.ts';
import { chooseBareHandles } from './provider/posix/bare-handles.ts';
import { beginEarly } from './providers/namespace/early-setup.ts';

/** A guess that costs little where it is wrong: what nobody takes ends with this process. */
export function takeHeadStart(platform: NodeJS.Platform = process.platform): void {
  if (automaticProvider(platform) !== 'namespace') return;
  chooseBareHandles();
  try {
    beginEarly();
  } catch {
    // No process or pipe is to be had just now. Whoever makes the first sandbox hears why.
  }
}
