/** Whether a host is this machine: plain transport is for it alone, wherever that rule is applied. */

const NUMBERS = /^127\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;
const IPV6 = ['::1', '[::1]'];

/**
 * True for the literal loopback addresses and `localhost`. Not for names below it, such as `db.localhost`: they go where
 * the resolver says, and not every resolver keeps them here.
 */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  const numbers = NUMBERS.exec(name);
  if (numbers !== null) return numbers.slice(1).every((part) => Number(part) <= 255);
  return name === 'localhost' || IPV6.includes(name);
}
