/**
 * The address the result is pushed to: one of ours, or one the file gives (docs/platform.md 2.3, 4.3 rule 3,
 * 8).
 */
import { BlockList, isIP } from 'node:net';
import { CALLBACK_URL_CHARACTERS_MAX } from '../store/notifications/notify-path.ts';
import { text } from './values.ts';

const PRIVATE = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  PRIVATE.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
] as const) {
  PRIVATE.addSubnet(network, prefix, 'ipv6');
}

function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  const version = isIP(host);
  if (version !== 0) return !PRIVATE.check(host, version === 4 ? 'ipv4' : 'ipv6');
  return host.includes('.') && !/\.(?:localhost|local|internal|lan|home|test)\.?$/i.test(host);
}

function wrongAddress(value: string): string | null {
  if (!URL.canParse(value)) return 'is no URL, like https://company.example/notify';
  const url = new URL(value);
  if (url.protocol !== 'https:') return 'must begin with https://';
  if (url.username !== '' || url.password !== '') return 'must not carry a user or password';
  return isPublicHost(url.hostname) ? null : 'is not an address the platform could reach from outside';
}

/** `ours` is taken as the settings have it, on loopback too; only its length is the platform's matter. */
export const callbackUrl = (ours: string | null) =>
  text(CALLBACK_URL_CHARACTERS_MAX, (value) => (value === ours ? null : wrongAddress(value)));
