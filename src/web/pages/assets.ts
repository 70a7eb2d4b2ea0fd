/** The pages' few files that never change under their address: each has a hash of its content in it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';
import { packageFile } from '../../host/files.ts';

export interface Asset {
  readonly address: string;
  readonly bytes: Buffer;
  readonly contentType: string;
}

export interface Assets {
  readonly stylesheet: Asset;
  readonly icon: Asset;
}

const HASH_CHARACTERS = 16;

/** Reads them; they are a few kB. */
export const readAssets = (): Assets => ({
  stylesheet: assetOf('pages.css', 'text/css; charset=utf-8'),
  icon: assetOf('icon.svg', 'image/svg+xml'),
});

function assetOf(name: string, contentType: string): Asset {
  const bytes = readFileSync(packageFile(`src/pages/assets/${name}`));
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, HASH_CHARACTERS);
  return { address: `/assets/${hash}/${name}`, bytes, contentType };
}

/** Public: they hold no data, and the login page needs them. */
export function addAssets(server: FastifyInstance, assets: Assets): void {
  for (const { address, bytes, contentType } of Object.values(assets) as Asset[]) {
    server.get(address, (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(contentType).send(bytes),
    );
  }
}
