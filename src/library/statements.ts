/** `@daybook/daybook/statements`: reads what daybook published: where files lie, manifests, the entries of a statement. */
export { dayPrefix, manifestKey, merchantPrefix, statementKey, summaryKey } from '../statements/keys.ts';
export { parseManifest, type Manifest, type ManifestStatement } from '../statements/manifest.ts';
export { statementEntries, type StatementEntry } from '../statements/verify-rows.ts';
export { UnreadableRows } from '../statements/formats/format.ts';
