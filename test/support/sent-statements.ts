/** Reads the SQL out of what a client sends to PostgreSQL. */

/**
 * Finds the SQL in one chunk: simple queries (Q), statements to parse (P), and those that were parsed before and are
 * only bound (B). Each chunk is one round trip. The texts of named statements are remembered, over all connections.
 */
export function createStatementReader(): (chunk: Buffer) => string[] {
  const named = new Map<string, string>();
  return (chunk) => {
    const found: string[] = [];
    let isParsed = false;
    for (let at = 0; at + 5 <= chunk.length;) {
      const type = String.fromCharCode(chunk[at]!);
      const length = chunk.readInt32BE(at + 1);
      const body = chunk.subarray(at + 5, at + 1 + length);
      const [first = '', second = ''] = body.toString().split('\0', 2);
      if (type === 'Q') found.push(first);
      if (type === 'P') {
        found.push(second);
        named.set(first, second);
        isParsed = true;
      }
      if (type === 'B' && !isParsed) found.push(named.get(second) ?? '');
      if (!/[A-Za-z]/.test(type) || length < 4) break;
      at += 1 + length;
    }
    return found;
  };
}
