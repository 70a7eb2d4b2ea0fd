/** What strangers may cost: how many posts of one path, and how much of paths nobody was told, are taken in. */
import { isIPv6 } from 'node:net';
import { createShares } from './shares.ts';

export interface InboxLimits {
  /** Posts by one path an hour, from one source and in all. More are told to come again. */
  readonly pathSourcePosts: number;
  readonly pathPosts: number;
  /** Posts of unknown paths that are kept an hour, from one source and in all, and their bytes as stored. */
  readonly unknownSourcePosts: number;
  readonly unknownPosts: number;
  readonly unknownSourceBytes: number;
  readonly unknownBytes: number;
}

/**
 * A day at the full rate of unknown ones, and one more hour's share at once, are exactly what the store keeps of them
 * (`UNKNOWN_KEPT`): noise cannot push out a post before it has been kept for a day.
 */
export const INBOX_LIMITS: InboxLimits = {
  pathSourcePosts: 60,
  pathPosts: 200,
  unknownSourcePosts: 100,
  unknownPosts: 800,
  unknownSourceBytes: 1_000_000,
  unknownBytes: 5_000_000,
};

/** Paths and sources remembered. */
const NAMES_MAX = 20_000;

export interface Gate {
  /** Whether one more post by this path is taken in. The same for a known path and an unknown one. */
  readonly letsIn: (notifyHash: string, source: string | null) => boolean;
  /** Whether one more post of an unknown path is kept. */
  readonly keepsUnknown: (source: string | null, bytes: number) => boolean;
}

export function createGate(limits: InboxLimits, clock: () => number): Gate {
  const shares = (perHour: number) => createShares({ perHour, namesMax: NAMES_MAX, clock });
  const [pathSources, paths] = [shares(limits.pathSourcePosts), shares(limits.pathPosts)];
  const [sourcePosts, posts] = [shares(limits.unknownSourcePosts), shares(limits.unknownPosts)];
  const [sourceBytes, bytesInAll] = [shares(limits.unknownSourceBytes), shares(limits.unknownBytes)];
  return {
    letsIn: (notifyHash, source) =>
      pathSources.take(`${notifyHash} ${networkOf(source)}`) && paths.take(notifyHash),
    keepsUnknown: (source, bytes) => {
      const network = networkOf(source);
      return (
        sourcePosts.take(network) &&
        sourceBytes.take(network, bytes) &&
        posts.take('all') &&
        bytesInAll.take('all', bytes)
      );
    },
  };
}

/** Who counts as one source: an address, or the network of 64 bits that one IPv6 customer has. */
export function networkOf(source: string | null): string {
  if (source === null || !isIPv6(source)) return source ?? '';
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(source)?.[1];
  if (mapped !== undefined) return mapped;
  // The URL parser spells an address in its one short form.
  const [head = '', tail] = new URL(`http://[${source.replace(/%.*$/, '')}]`).hostname
    .slice(1, -1)
    .split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':');
    while (groups.length + last.length < 8) groups.push('0');
    groups.push(...last);
  }
  return groups.slice(0, 4).join(':');
}
