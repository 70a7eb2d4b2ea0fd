/** Whose address counts as a request's sender: the connection's, or the one that trusted proxies name. */
import type { IncomingMessage } from 'node:http';
import { plainAddress } from '../host/addresses.ts';

/** One element of `Forwarded`, which some proxies write into X-Forwarded-For. */
const FORWARDED_FOR = /(?:^|;)\s*for\s*=\s*([^;]+)/i;
/** An address in brackets, or IPv4, with a port. */
const WITH_PORT = /^(?:\[(?<ipv6>[^\]]+)\]|(?<ipv4>[0-9.]+))(?::\d{1,5})?$/;

/**
 * The address as proxies write it: with a port, in brackets, in quotes, mapped into IPv6, with a zone, or after `for=`. Null
 * where there is none to read: `unknown`, a name, nothing.
 */
function addressIn(element: string): string | null {
  const given = (FORWARDED_FOR.exec(element)?.[1] ?? element).trim().replace(/^"(.*)"$/, '$1');
  const { ipv6, ipv4 } = WITH_PORT.exec(given)?.groups ?? {};
  return plainAddress(ipv6 ?? ipv4 ?? given);
}

/**
 * The sender's address in its one spelling, so that it can be counted. X-Forwarded-For is read from its end, as each proxy
 * adds to it: the first address that is no trusted proxy's is the sender's. What cannot be read ends the search at the
 * proxy that wrote it, as everything before it may be of the sender's making. So whatever is sent, one connection that brings
 * nothing to read is one sender.
 */
export function senderOf(
  { socket, headers }: IncomingMessage,
  isTrusted: (address: string) => boolean,
): string {
  let sender = plainAddress(socket.remoteAddress ?? '') ?? '';
  const elements = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
  while (elements.length > 0 && isTrusted(sender)) {
    const before = addressIn(elements.pop()!);
    if (before === null) break;
    sender = before;
  }
  return sender;
}
