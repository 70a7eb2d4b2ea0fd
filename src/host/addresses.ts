/** Addresses of machines: what loopback is, whether a list names an address, and whether two are the same. */
import { BlockList, isIP, SocketAddress } from 'node:net';

const NUMBERS = /^127\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;
const IPV6 = ['::1', '[::1]'];

/**
 * Whether a host is this machine: only there may a connection be unencrypted. True for the literal loopback addresses
 * and for `localhost`. Not for names below it such as `db.localhost`: not every resolver maps those to this machine.
 */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  const numbers = NUMBERS.exec(name);
  if (numbers !== null) return numbers.slice(1).every((part) => Number(part) <= 255);
  return name === 'localhost' || IPV6.includes(name);
}

/** An address in its one spelling: IPv6 short and in small letters, without a zone, and IPv4 as such. Null for what is no address. */
export function plainAddress(text: string): string | null {
  const [address = ''] = text.split('%', 1);
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : null;
  return new SocketAddress({ address, family: 'ipv6' }).address.replace(/^::ffff:(?=.*\.)/, '');
}

/** Whether an address is in the list, or in one of its networks (`10.0.0.0/8`). */
export function withinOneOf(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Whether two settings name one port of one address. Port 0 is another one each time. */
export const isSameAddress = (one: Address, other: Address): boolean =>
  one.port !== 0 && one.port === other.port && one.host === other.host;
