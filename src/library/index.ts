/** `@daybook/daybook`: everything that other programs may import, from one place. docs/library.md has worked examples. */
export * from './ledger.ts';
export * from './statements.ts';
export * from './verify.ts';
