/** The cases of a claim: the first `short` of them for every run, the others for those with long tests. */
export const shortAndLong = <const Case>(cases: readonly Case[], short = 1) => [
  { options: {}, cases: cases.slice(0, short) },
  { options: { tags: ['long'] }, cases: cases.slice(short) },
];
