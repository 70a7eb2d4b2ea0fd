/** The SHA-256 of a text or of bytes. */
import { createHash } from 'node:crypto';

export const sha256Of = (text: string | Uint8Array): string =>
  createHash('sha256').update(text).digest('hex');
