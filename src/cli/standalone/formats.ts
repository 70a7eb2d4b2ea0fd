/** The published formats as far as checking them goes: of those of plugins the bytes alone are checked. */
import { HEADS } from '../../statements/formats/registered.ts';
import { CSV, type ReadableFormat } from './csv.ts';

export const STATEMENT_FORMATS: readonly ReadableFormat[] = [CSV, ...Object.values(HEADS)];
