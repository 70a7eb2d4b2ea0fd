/**
 * How an operation says no: an answer with a code, as the document shows no shape for it
 * (docs/platform.md 7).
 */
import type { z } from 'zod';

export class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The body as the schema reads it. Throws `Refused` naming the first field that breaks the document's rules. */
export function accepted<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw new Refused(400, 'E40000', `${path.join('.')}: ${message}`);
}
