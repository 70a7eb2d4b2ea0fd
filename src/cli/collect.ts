/** Options that can be repeated. The file for auditors has this, too, so it stands apart from what needs packages. */

/** Collects the values of an option that can be repeated. */
export const collect = (value: string, earlier: readonly string[]): string[] => [...earlier, value];
