/** Checks whether a host is this machine. Only there may a connection be unencrypted. */

const NUMBERS = /^127\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;
const IPV6 = ['::1', '[::1]'];

/**
 * True for the literal loopback addresses and for `localhost`. Not for names below it such as `db.localhost`: not
 * every resolver maps those to this machine.
 */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  const numbers = NUMBERS.exec(name);
  if (numbers !== null) return numbers.slice(1).every((part) => Number(part) <= 255);
  return name === 'localhost' || IPV6.includes(name);
}
