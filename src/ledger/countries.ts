/** The country codes of ISO 3166-1 alpha-2, in which the platform names countries. */
import { iso31661Alpha2ToNumeric } from 'iso-3166/1-a2-to-1-n.js';

/** The officially assigned codes, and XK, which is in common use for Kosovo. */
const CODES = new Set([...Object.keys(iso31661Alpha2ToNumeric), 'XK']);

/** Whether the code is in use. It must be in capitals. */
export const isCountryCode = (code: string): boolean => CODES.has(code);
