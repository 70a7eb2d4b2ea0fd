/** Whether the standard OTEL_* variables ask for traces, and how they are to be sent. Loads nothing. */
import { UsageError } from '../../run/verdict/exit-codes.ts';

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
export type TraceProtocol = (typeof PROTOCOLS)[number];

type Env = Readonly<Record<string, string | undefined>>;

/**
 * How to send traces; null if they are off, as they are unless OTEL_TRACES_EXPORTER is otlp, or is not set with an
 * address for OTLP. Throws `UsageError` for an exporter or a protocol that daybook does not have.
 */
export function tracesWanted(env: Env): TraceProtocol | null {
  const [exporter = '', protocol = 'http/protobuf'] = [
    env['OTEL_TRACES_EXPORTER'],
    env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || env['OTEL_EXPORTER_OTLP_PROTOCOL'] || undefined,
  ];
  const hasAddress = [env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'], env['OTEL_EXPORTER_OTLP_ENDPOINT']].some(
    (address = '') => address !== '',
  );
  if (env['OTEL_SDK_DISABLED'] === 'true' || exporter === 'none' || (exporter === '' && !hasAddress))
    return null;
  if (exporter !== '' && exporter !== 'otlp')
    throw new UsageError(
      `OTEL_TRACES_EXPORTER is ${exporter}: daybook sends traces by otlp alone; set it to otlp, or to none.`,
    );
  const known = PROTOCOLS.find((one) => one === protocol);
  if (known === undefined)
    throw new UsageError(
      `OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}: daybook sends traces by ${PROTOCOLS.join(' or ')}; set one of them.`,
    );
  return known;
}
