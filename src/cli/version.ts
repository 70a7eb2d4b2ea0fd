/** The version of this program. */
import { readFileSync } from 'node:fs';
import { packageFile } from '../host/package-file.ts';

export function ownVersion(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
