/** Checks header templates. They are settings, as the platform's document names no header (docs/platform.md 5). */
import { z } from 'zod';
import { jsonText } from './reading.ts';

/** Headers that the HTTP client sets itself. */
const CLIENT_HEADERS = [
  'connection',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
  'upgrade',
];

/** The first problem of the header templates. It does not repeat their contents. */
function headersProblem(
  headers: Readonly<Record<string, string>>,
  placeholders: readonly string[],
): string | null {
  for (const [index, [name, template]] of Object.entries(headers).entries()) {
    const which = `header ${index + 1}`;
    if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/.test(name)) return `has no valid name in ${which}`;
    if (CLIENT_HEADERS.includes(name.toLowerCase())) return `sets ${name}, which the client sets itself`;
    if (!/^[\x20-\x7e]*$/.test(template)) return `has more than printable ASCII in the value of ${which}`;
    for (const [, placeholder = ''] of template.matchAll(/\{([^{}]*)\}/g)) {
      if (!placeholders.includes(placeholder)) {
        const known = placeholders.map((name) => `{${name}}`).join(' nor ');
        return `has something in braces in ${which} that is neither ${known}`;
      }
    }
  }
  return null;
}

export const headerTemplates = (...placeholders: readonly string[]) => {
  const error = 'must be a mapping of header names to texts (in the environment: JSON)';
  return z.preprocess(
    jsonText,
    z.record(z.string(), z.string({ error }), { error }).superRefine((headers, context) => {
      const problem = headersProblem(headers, placeholders);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    }),
  );
};
