/** How an operation refuses: by a status and a code. The document shows no form for it (docs/platform.md 7). */
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

/** The body, read by the schema. Throws `Refused` that names the first field that breaks a rule of the document. */
export function accepted<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw new Refused(400, 'E40000', `${path.join('.')}: ${message}`);
}
