/** What `verify` is for: in the list of commands, and in the help of the file for auditors. */
export const VERIFY_ABOUT =
  'check downloaded statements against their manifest, offline: file size, checksum (SHA-256), balance chain';
