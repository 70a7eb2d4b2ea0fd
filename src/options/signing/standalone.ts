/** What `verify.mjs` has of this option, in place of its value: what checks, and nothing that signs. */
import { isSecretKey, readPublicKey } from './minisign.ts';

export const signing = { signatures: { isSecretKey, readPublicKey } };
