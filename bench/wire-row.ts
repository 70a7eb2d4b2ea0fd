/** A record of sp2404 as JavaScript reads it: what scripts without exact amounts see. */

export interface WireRow {
  batchNo: string;
  currency: string;
  busiType: string;
  inAmount: number | null;
  outAmount: number | null;
  vailAmount: number;
  busiDate: string;
}

/** In the zone of the bench's ledgers. */
export const bookedMs = ({ busiDate }: WireRow): number => Date.parse(`${busiDate.replace(' ', 'T')}+08:00`);
