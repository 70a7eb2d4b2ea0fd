/** COPY to and from a file or nothing at all: the fastest way rows get into and out of the database. */
import { createReadStream, createWriteStream } from 'node:fs';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import copyStreams from 'pg-copy-streams';

/** Writes a query's rows to a file. */
export const copyToFile = (client: pg.Client, query: string, path: string): Promise<void> =>
  pipeline(client.query(copyStreams.to(`COPY ${query} TO STDOUT`)), createWriteStream(path));

/** Reads rows from a file into a table. */
export const copyFromFile = (client: pg.Client, table: string, path: string): Promise<void> =>
  pipeline(
    createReadStream(path, { highWaterMark: 1 << 20 }),
    client.query(copyStreams.from(`COPY ${table} FROM STDIN`)),
  );

/** Fetches a query's rows as CSV and forgets them; returns their bytes. */
export async function copyCsvAway(client: pg.Client, query: string): Promise<number> {
  let bytes = 0;
  const nowhere = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.byteLength;
      done();
    },
  });
  await pipeline(client.query(copyStreams.to(`COPY (${query}) TO STDOUT (FORMAT csv)`)), nowhere);
  return bytes;
}
