/** `@daybook/daybook/verify`: what `daybook verify` does, as a function, and what its keys are read with. */
export { verifyPaths, type VerifyReport } from '../statements/verify.ts';
export { NothingToVerify, type VerifiedFile } from '../statements/verify-days.ts';
export { readPublicKey, type PublicKey } from '../signing/minisign.ts';
