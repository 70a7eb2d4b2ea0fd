/** Recognises the error for a row that exists already. */
import { codeOf } from './errors.ts';

const UNIQUE_VIOLATION = '23505';

export const isUniqueViolation = (error: unknown): boolean => codeOf(error) === UNIQUE_VIOLATION;
