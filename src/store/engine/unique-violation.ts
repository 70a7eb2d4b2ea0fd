/** A row that the tables take only once was there already. */
import { codeOf } from './errors.ts';

const UNIQUE_VIOLATION = '23505';

export const isUniqueViolation = (error: unknown): boolean => codeOf(error) === UNIQUE_VIOLATION;
