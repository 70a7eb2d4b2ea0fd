/** The published formats as far as checking them goes: of those of options the bytes alone are checked. */
import { optionalFormats } from '../../options/all.ts';
import { CSV, type ReadableFormat } from './csv.ts';

export const STATEMENT_FORMATS: readonly ReadableFormat[] = [CSV, ...optionalFormats()];
