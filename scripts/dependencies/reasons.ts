/** Why each package is there, by what needs it: the core, or an option. Packages that only some settings need are marked by package.json itself. */
export const REASONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  core: {
    '@aws-sdk/client-s3':
      'statements in S3: requests, signatures, retries. Loaded where `STATEMENTS_URL` is in S3',
    '@date-fns/tz': 'offsets of the platform’s time zone, from the machine’s zone data',
    '@date-fns/utc': 'lists of days that do not depend on this machine’s zone',
    commander: 'commands, flags and help. It alone is loaded by `--help`',
    croner: 'last and next time of a cron expression. cron-parser brings luxon, 4.5 MB',
    'csv-stringify': 'cells of a CSV that need quotes',
    'currency-codes': 'decimals of each currency by ISO 4217. Node’s Intl has CLDR’s, which differ',
    'date-fns': 'lists of days. One function of its 10 MB',
    'iso-3166': 'which country codes exist. Node’s Intl names countries but does not list them',
    kysely: 'typed SQL for every table',
    'node-cron': 'wakes the schedule at each full minute',
    'p-limit': 'bounds page calls, merchants side by side, and files at once',
    pg: 'connections with PostgreSQL. Loaded where `DATABASE_URL` is set',
    pino: 'the log, as lines of JSON',
    undici:
      'calls of the platform and webhooks. Node’s fetch does not say whether a byte has left, nor bound connections',
    yaml: 'the settings file, with the line of a mistake. Loaded where there is one',
    yauzl: 'reads the ZIPs that `verify` is given, also in `verify.mjs`',
    yazl: 'ZIP of a month, and of a workbook, as a stream',
    zod: 'every setting, form and pushed result is checked by its schema',
  },
  embedded: { '@electric-sql/pglite': 'the database where no server is named: PostgreSQL as WebAssembly' },
  formats: {
    'any-ascii': 'names in the letters that MT940 allows',
    pdfkit: 'the statement as PDF',
  },
  books: {
    hucre: 'books kept as XLSX',
  },
  'notifications and pages': { fastify: 'the HTTP server; limits on bodies and times' },
  pages: {
    '@fastify/cookie': 'signed cookies of a login',
    '@fastify/formbody': 'forms of the pages',
    '@fastify/helmet': 'headers that let nothing foreign in',
    '@fastify/rate-limit': 'slows down who guesses passwords',
    '@remix-run/html-template': 'HTML with every value escaped',
    'openid-client': 'a login by OpenID Connect',
  },
  alerts: { nodemailer: 'alerts by mail' },
  queue: { 'pg-boss': 'the queue of merchants for workers' },
  observe: {
    'prom-client': 'metrics of the process in Prometheus’s format',
    '@opentelemetry/api': 'traces',
    '@opentelemetry/exporter-trace-otlp-http': 'sends traces as JSON',
    '@opentelemetry/exporter-trace-otlp-proto': 'sends traces as protobuf, the standard’s default',
    '@opentelemetry/resources': 'what a trace says of its process, from `OTEL_*`',
    '@opentelemetry/sdk-trace-base': 'spans in batches, with the standard’s limits',
  },
};
