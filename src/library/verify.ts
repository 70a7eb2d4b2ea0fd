/** `@daybook/daybook/verify`: what `daybook verify` does, as a function. */
export { verifyPaths, type VerifiedFile, type VerifyReport } from '../statements/verify.ts';
export { NothingToVerify } from '../statements/downloaded-files.ts';
