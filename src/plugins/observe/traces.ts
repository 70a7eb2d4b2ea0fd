/**
 * Traces by OpenTelemetry, sent by OTLP over HTTP. What it takes is loaded by this file alone, and this file only where
 * the standard OTEL_* variables ask for traces.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { ROOT_CONTEXT, SpanStatusCode, trace as traces, type Context } from '@opentelemetry/api';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Traces, TracesOptions } from '../../web/observation.ts';
import { tracesWanted, type TraceProtocol } from './traces-wanted.ts';

/** When the process ends, the last spans have this long to be sent. */
const CLOSE_MS_MAX = 5_000;
const SERVICE = 'daybook';

/** Address, headers, time limits, sampling and service name come from the OTEL_* variables. */
export async function openTraces({ env, version, onProblem }: TracesOptions): Promise<Traces> {
  const exporter = reporting(await exporterOf(tracesWanted(env)!), onProblem);
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': SERVICE, 'service.version': version }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(exporter)],
  });
  const tracer = provider.getTracer(SERVICE, version);
  const current = new AsyncLocalStorage<Context>();
  return {
    trace: (name, attributes, work) => {
      const parent = current.getStore() ?? ROOT_CONTEXT;
      const span = tracer.startSpan(name, { attributes }, parent);
      return current.run(traces.setSpan(parent, span), async () => {
        try {
          return await work((more) => span.setAttributes(more));
        } catch (error) {
          // Its message may quote what the platform sent.
          span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown');
          span.setStatus({ code: SpanStatusCode.ERROR });
          throw error;
        } finally {
          span.end();
        }
      });
    },
    close: async () => {
      const { promise: late, resolve } = Promise.withResolvers<undefined>();
      const timer = setTimeout(() => resolve(undefined), CLOSE_MS_MAX);
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
      clearTimeout(timer);
    },
  };
}

async function exporterOf(protocol: TraceProtocol): Promise<SpanExporter> {
  const { OTLPTraceExporter } =
    protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto');
  return new OTLPTraceExporter();
}

/** The same exporter, which also reports spans it could not send. */
const reporting = (exporter: SpanExporter, onProblem: TracesOptions['onProblem']): SpanExporter => ({
  export: (spans, done) =>
    exporter.export(spans, (result) => {
      if (result.error !== undefined) onProblem(result.error.message);
      done(result);
    }),
  shutdown: () => exporter.shutdown(),
  forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
});
