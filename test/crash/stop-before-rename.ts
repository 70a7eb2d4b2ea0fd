/** Loaded into a run. It stops the process, like SIGSTOP, right before the manifest gets its name. */
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

let isDone = false;

function stopBefore(name: 'rename' | 'link'): void {
  const work = fs[name];
  fs[name] = async (from, to) => {
    if (!isDone && (to as string).endsWith('manifest.json')) {
      isDone = true;
      process.kill(process.pid, 'SIGSTOP');
    }
    return work(from, to);
  };
}

stopBefore('rename');
stopBefore('link');
syncBuiltinESMExports();
