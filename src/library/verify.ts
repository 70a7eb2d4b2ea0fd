/** `@daybook/daybook/verify`: what `daybook verify` does, as a function, and what its keys are read with. */
export { readPublicKey } from '../signing.ts';
export { verifyPaths, type VerifyReport } from '../verify/verify.ts';
export { NothingToVerify, type VerifiedFile } from '../verify/days.ts';
export type { PublicKey } from '../ledger/signature.ts';
