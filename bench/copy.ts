/** Runs PostgreSQL's COPY, the fastest way to move rows into and out of a database. It is a limit to compare with. */
import { createReadStream, createWriteStream } from 'node:fs';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import copyStreams from 'pg-copy-streams';

/** Writes the rows of a query to a file. */
export const copyToFile = (client: pg.Client, query: string, path: string): Promise<void> =>
  pipeline(client.query(copyStreams.to(`COPY ${query} TO STDOUT`)), createWriteStream(path));

/** Loads the rows of a file into a table. */
export const copyFromFile = (client: pg.Client, table: string, path: string): Promise<void> =>
  pipeline(
    createReadStream(path, { highWaterMark: 1 << 20 }),
    client.query(copyStreams.from(`COPY ${table} FROM STDIN`)),
  );

/** Fetches the rows of a query as CSV and throws them away. Returns how many bytes they were. */
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
