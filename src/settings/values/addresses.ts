/** Checks addresses in settings. */
import { isLoopback } from '../../host/addresses.ts';
import { reading, Wrong } from './scalars.ts';

/** The address a server listens on. Port 0 means any free port. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A callbackUrl may have 255 characters. This leaves 75 for its path: the kind and the secret. */
const PUBLIC_URL_CHARACTERS_MAX = 180;
const PORT_MAX = 65_535;

export const parseUrl = (value: string): URL => {
  if (!URL.canParse(value)) throw new Wrong('is not a URL');
  return new URL(value);
};

/** Origin and path of an address, without slashes at its end. Throws as `checkedUrl` does. */
export function addressOf(value: string, credentialsHint: string): string {
  const { origin, pathname } = checkedUrl(value, credentialsHint);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

/** Throws `Wrong` for what is not https, or http to this machine, or is more than an origin and a path. */
export function checkedUrl(value: string, credentialsHint: string): URL {
  const url = parseUrl(value);
  if (url.username !== '' || url.password !== '') {
    throw new Wrong(`must not carry a user or password${credentialsHint}`);
  }
  if (url.search !== '' || url.hash !== '') throw new Wrong('must end with its path, without ? or #');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw new Wrong('must be https; plain http is for loopback only');
  }
  return url;
}

/**
 * The address at which the platform reaches us. callbackUrls begin with it and have at most 255 characters
 * (docs/platform.md 8).
 */
export const publicUrl = () =>
  reading((value) => {
    const address = addressOf(value, '');
    if (address.length > PUBLIC_URL_CHARACTERS_MAX) {
      throw new Wrong(
        `has ${address.length} characters, where ${PUBLIC_URL_CHARACTERS_MAX} leave space for the path after it`,
      );
    }
    return address;
  });

/** `127.0.0.1:8080` or `[::1]:8080`. Port 0 means any free port. */
export const listenAddress = () =>
  reading((value): ListenAddress => {
    const [, bracketed, plain, port = ''] =
      /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(value) ?? [];
    const host = bracketed ?? plain;
    if (host === undefined) throw new Wrong('must be a host and a port, like 127.0.0.1:8080');
    if (Number(port) > PORT_MAX) throw new Wrong(`has a port above ${PORT_MAX}`);
    return { host, port: Number(port) };
  });
