/** Settings of the database. */
import { setting } from '../settings/setting.ts';
import { parseUrl } from '../settings/values/addresses.ts';
import { integer, reading, Wrong } from '../settings/values/scalars.ts';
import type { SecretKey } from './secrets/secrets.ts';

const SECRET_KEY_BYTES = 32;
/** 32 random bytes have 30 different values on average. Fewer than 16 occur once in 10^17 keys. */
const DIFFERENT_BYTES_MIN = 16;

const databaseUrl = () =>
  reading((value) => {
    const { protocol } = parseUrl(value);
    if (protocol !== 'postgres:' && protocol !== 'postgresql:')
      throw new Wrong('must begin with postgres://');
    return value;
  });

/** Why a key is surely not random, or null. Of random keys, less than one in billions is refused. */
function trivialityOf(key: Buffer): string | null {
  if (key.every((byte) => (byte >= 0x20 && byte < 0x7f) || (byte >= 0x09 && byte <= 0x0d))) return 'text';
  if (new Set(key).size < DIFFERENT_BYTES_MIN) return 'the same few bytes again and again';
  const steps = new Set(key.subarray(1).map((byte, index) => byte - key[index]!));
  if (steps.size === 1) return 'bytes that count up or down';
  return null;
}

/** `id:base64,...`. Messages name a key by its position: even its id might be a key put in the wrong place. */
const secretKeys = () =>
  reading((value): readonly SecretKey[] => {
    const keys = value.split(',').map((part, index): SecretKey => {
      const which = `key ${index + 1}`;
      const [, id, base64] = /^([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/]+={0,2})$/.exec(part.trim()) ?? [];
      if (id === undefined || base64 === undefined) throw new Wrong(`has no id:base64 as ${which}`);
      const key = Buffer.from(base64, 'base64');
      if (key.length !== SECRET_KEY_BYTES) {
        throw new Wrong(`has ${key.length} bytes in ${which}, where ${SECRET_KEY_BYTES} are needed`);
      }
      const trivial = trivialityOf(key);
      if (trivial !== null) {
        throw new Wrong(`has no random bytes in ${which}: ${trivial}, which others can guess`);
      }
      return { id, key };
    });
    if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Wrong('gives two keys the same id');
    return keys;
  });

export const STORE = {
  DATABASE_URL: setting(
    databaseUrl().optional(),
    'PostgreSQL 14 or newer, with TLS (?sslmode=verify-full) unless it is on this machine. Without it: an embedded database in dataDir/db.',
    { example: 'postgres://daybook@db.example/daybook', secret: true },
  ),
  DATABASE_POOL_SIZE: setting(
    integer(2, 100).default(7),
    'How many connections each process opens at most, 2 to 100. With fewer than 7, pages wait for each other sooner.',
    { example: '7' },
  ),
  DAYBOOK_SECRET_KEYS: setting(
    secretKeys().default([]),
    "Keys that encrypt stored tokens and personal data: id:base64 of 32 bytes ('openssl rand -base64 32'), separated by commas. The first one encrypts, all decrypt. To change keys, put a new one in front and keep the old ones.",
    { example: "k1: and the output of 'openssl rand -base64 32'", secret: true },
  ),
  DAYBOOK_COOKIE_KEYS: setting(
    secretKeys().default([]),
    "Keys that sign who is logged in at the pages, in the same form. The first one signs, all are believed. Without them, keys derived from secretKeys do. A process that shows pages alone ('daybook serve --pages') needs these and no secretKeys.",
    { example: "k1: and the output of 'openssl rand -base64 32'", secret: true },
  ),
};
