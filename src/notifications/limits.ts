/** Limits for unknown senders: how many posts to one path are accepted, and how many to unknown paths are kept. */
import { isIPv6 } from 'node:net';
import { createShares } from './shares.ts';

export interface InboxLimits {
  /** Posts to one path an hour, from one source and in all. Senders of more get a `Retry-After`. */
  readonly pathSourcePosts: number;
  readonly pathPosts: number;
  /** Posts to unknown paths that are kept an hour, from one source and in all, and their bytes as stored. */
  readonly unknownSourcePosts: number;
  readonly unknownPosts: number;
  readonly unknownSourceBytes: number;
  readonly unknownBytes: number;
}

/**
 * `UNKNOWN_KEPT` holds exactly a day of posts to unknown paths at the full rate, and one more hour's share. So noise
 * cannot push out a post that has been kept for less than a day.
 */
export const INBOX_LIMITS: InboxLimits = {
  pathSourcePosts: 60,
  pathPosts: 200,
  unknownSourcePosts: 100,
  unknownPosts: 800,
  unknownSourceBytes: 1_000_000,
  unknownBytes: 5_000_000,
};

/** The most paths and sources that are remembered. */
const NAMES_MAX = 20_000;

export interface Gate {
  /** Whether one more post to this path is taken in, be the path known or unknown. */
  readonly letsIn: (notifyHash: string, source: string | null) => boolean;
  /** Whether one more post to an unknown path is kept. */
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

/** What counts as one source: an address, or for IPv6 the network of 64 bits that one customer has. */
export function networkOf(source: string | null): string {
  if (source === null || !isIPv6(source)) return source ?? '';
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(source)?.[1];
  if (mapped !== undefined) return mapped;
  // The URL parser gives every spelling of an address the same form.
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
