/** `@daybook/daybook/statements`: reads what daybook published: where files lie, manifests, the entries of a statement. */
export { dayPrefix, manifestKey, merchantPrefix } from '../verify/names.ts';
export { statementKey, summaryKey } from '../statements/keys.ts';
export { parseManifest, type Manifest, type ManifestStatement } from '../verify/manifest.ts';
export { statementEntries, type StatementEntry } from '../statements/file-rows.ts';
export { UnreadableRows } from '../verify/csv.ts';
