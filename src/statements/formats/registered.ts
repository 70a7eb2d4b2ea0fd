/** Formats that plugins add to CSV. What writes them is loaded with the first day. */
import { register } from '../../host/slot.ts';
import type { MonthFormat, StatementFormat } from './format.ts';

/** In the order of their lists. */
export const addedFormats = register<StatementFormat>('formats of statements');

/** Formats of a merchant's month as one file. */
export const addedMonthFormats = register<MonthFormat>('formats of months');
