import { createHash } from 'node:crypto';

const CHARACTERS = 12;

/** An address as the database may hold it: the same each time, and no address. */
export const fingerprintOf = (address: string): string =>
  createHash('sha256').update(address).digest('hex').slice(0, CHARACTERS);
