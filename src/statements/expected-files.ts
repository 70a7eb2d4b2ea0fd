/** The files that a manifest lists. */
import { CSV } from './formats/csv.ts';
import type { Manifest, ManifestStatement, OtherFormat } from './manifest.ts';

export interface ExpectedFile {
  readonly file: string;
  readonly sha256: string;
  /** Null where the manifest does not say. */
  readonly bytes: number | null;
  readonly revision: number;
  readonly currency: string | null;
  readonly current: boolean;
  /** Set for current statements. */
  readonly statement: ManifestStatement | null;
  /** Name of its format. Summaries have `csv` as well, but their rows are not checked. */
  readonly format: string;
}

/** Statements with their superseded revisions, in every format, then summaries. */
export function expectedFiles({ statements, summary }: Manifest): ExpectedFile[] {
  return [
    ...statements.flatMap((statement) => [
      ...inEveryFormat({ ...statement, current: true, statement, format: CSV.name }, statement),
      ...statement.superseded.flatMap((old) => {
        const { currency } = statement;
        return inEveryFormat({ ...old, currency, current: false, statement: null, format: CSV.name }, old);
      }),
    ]),
    ...(summary === null
      ? []
      : [summary, ...summary.superseded].map((one, index) => ({
          ...one,
          bytes: null,
          currency: null,
          current: index === 0,
          statement: null,
          format: CSV.name,
        }))),
  ];
}

/** A statement's file, and its files in other formats. */
const inEveryFormat = (
  file: ExpectedFile,
  { otherFormats = [] }: { readonly otherFormats?: readonly OtherFormat[] | undefined },
): ExpectedFile[] => [file, ...otherFormats.map((other) => ({ ...file, ...other }))];
