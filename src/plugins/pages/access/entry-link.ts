/** The link by which the person at this machine comes in where no login is set up. Whoever reaches the address alone does not. */
import { timingSafeEqual } from 'node:crypto';
import { sha256Of } from '../../../host/sha256.ts';
import type { EntryLink } from '../../../web/pages.ts';

const TOKEN_BYTES = 32;
export const LINK_PATH = '/login/link/';

/** Each link works once; the next one takes its place and is given to `onNext`. */
export interface OpenEntryLink extends EntryLink {
  /** Whether it is the link's token. Then the link has been used. */
  readonly take: (token: string) => boolean;
}

export function createEntryLink(random: (bytes: number) => Buffer): OpenEntryLink {
  let token = random(TOKEN_BYTES).toString('base64url');
  let listener: (path: string) => void = () => undefined;
  const path = (): string => LINK_PATH + token;
  return {
    path,
    onNext: (next) => (listener = next),
    take: (given) => {
      if (!timingSafeEqual(Buffer.from(sha256Of(given)), Buffer.from(sha256Of(token)))) return false;
      token = random(TOKEN_BYTES).toString('base64url');
      listener(path());
      return true;
    },
  };
}
