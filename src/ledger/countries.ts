/** The country codes of ISO 3166-1 alpha-2, in which the platform names countries. */
import { iso31661Alpha2ToNumeric } from 'iso-3166/1-a2-to-1-n.js';

/** Those officially assigned, and XK, which its users have agreed on for Kosovo. */
const CODES = new Set([...Object.keys(iso31661Alpha2ToNumeric), 'XK']);

/** Whether it is a code in use, in capitals. */
export const isCountryCode = (code: string): boolean => CODES.has(code);
