/** What `verify.mjs` has of this option, in place of its value: formats of whose files it checks the bytes. */
import { HEADS } from './heads.ts';

export const formats = { formats: Object.values(HEADS) };
