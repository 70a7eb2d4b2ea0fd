/** Where in a row the cells stand that formats of a bank are made of. */
import type { StatementColumn } from './columns.ts';

/** The places of cells in a row. */
export interface Places {
  readonly batchNo: number;
  readonly bookedAt: number;
  readonly type: number;
  readonly credit: number;
  readonly debit: number;
  readonly balance: number;
}

export function placesOf(columns: readonly StatementColumn[]): Places {
  const placeOf = (name: string): number => columns.findIndex((column) => column.name === name);
  return {
    batchNo: placeOf('batch_no'),
    bookedAt: placeOf('booked_at'),
    type: placeOf('transaction_type'),
    credit: placeOf('credit'),
    debit: placeOf('debit'),
    balance: placeOf('balance'),
  };
}
