/** Reads the begin of a stream before it is decided what becomes of it. */

/** The begin of a stream, more than `enough` bytes of it, and what follows; null if nothing does. */
export async function firstBytes(
  stream: AsyncIterable<Uint8Array>,
  enough: number,
): Promise<{ readonly bytes: Buffer; readonly rest: AsyncIterator<Uint8Array> | null }> {
  const rest = stream[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  for (let held = 0; held <= enough; held += chunks.at(-1)!.byteLength) {
    const next = await rest.next();
    if (next.done === true) return { bytes: Buffer.concat(chunks), rest: null };
    chunks.push(next.value);
  }
  return { bytes: Buffer.concat(chunks), rest };
}

/** The complete stream again. A reader that stops also stops the rest. */
export async function* joined(
  begin: Uint8Array,
  rest: AsyncIterator<Uint8Array> | null,
): AsyncGenerator<Uint8Array> {
  try {
    yield begin;
    if (rest !== null) yield* { [Symbol.asyncIterator]: () => rest };
  } finally {
    await rest?.return?.();
  }
}
