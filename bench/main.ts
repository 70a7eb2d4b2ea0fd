/** `npm run bench`: daybook's plugins are known before anything that asks for them is loaded. */
await import('../src/main.ts');
await import('./all.ts');
export {};
