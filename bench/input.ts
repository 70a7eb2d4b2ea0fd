/** Reads the input of a script of the bench: JSON on stdin. */
import { readFileSync } from 'node:fs';

export const givenInput = (): unknown => JSON.parse(readFileSync(0, 'utf8'));
