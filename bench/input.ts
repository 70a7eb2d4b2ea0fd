/** What a script of the bench was given: JSON on stdin. */
import { readFileSync } from 'node:fs';

export const givenInput = (): unknown => JSON.parse(readFileSync(0, 'utf8'));
