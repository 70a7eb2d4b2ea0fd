/** Checks whether two settings name one port of one address. */

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Port 0 is another one each time. */
export const isSameAddress = (one: Address, other: Address): boolean =>
  one.port !== 0 && one.port === other.port && one.host === other.host;
