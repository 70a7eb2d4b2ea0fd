/** Asks for a line on the terminal and shows nothing of what is typed. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';

export async function hiddenLine(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  process.stderr.write(question);
  try {
    return await lines.question('');
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
