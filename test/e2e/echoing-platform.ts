/** A platform that fails in every possible way, and repeats in its replies whatever it was sent. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** `sent` is the entire request, headers and body, in one text. */
type Fail = (response: ServerResponse, sent: string) => void;

const json = (response: ServerResponse, status: number, reply: unknown): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(reply));

export const FAILURES = {
  'a 400 that repeats it': (response, sent) => json(response, 400, { code: 'E40000', message: sent }),
  'a 401 that repeats it': (response, sent) => json(response, 401, { code: 'E40100', message: sent }),
  'a 422 with fields': (response, sent) => json(response, 422, { errors: [{ field: sent, value: sent }] }),
  'a 500 that repeats it': (response, sent) =>
    void response.writeHead(500, { 'content-type': 'text/plain' }).end(`fault while handling ${sent}`),
  'an error document with 200': (response, sent) => json(response, 200, { code: sent, message: sent }),
  'a page': (response, sent) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end(`<h1>Sorry</h1><pre>${sent}</pre>`),
  'a redirect': (response, sent) =>
    void response
      .writeHead(302, { location: `https://elsewhere.example/?${encodeURIComponent(sent)}` })
      .end(),
  'JSON that ends early': (response, sent) =>
    void response.end(JSON.stringify({ message: sent }).slice(0, -1)),
  'fields of the wrong kind': (response, sent) =>
    json(response, 200, {
      bizFlow: sent,
      bizFlowNo: sent,
      merOrderNo: sent,
      status: sent,
      code: sent,
      respCode: sent,
      payeeId: { sent },
      list: [{ batchNo: sent, busiDate: sent, currency: sent }],
      total: sent,
      metaDataList: [{ code: { sent }, name: sent }],
    }),
  'no UTF-8': (response, sent) => void response.end(Buffer.concat([Buffer.from(sent), Buffer.from([0xff])])),
  'a cut connection': (response) => void response.destroy(),
} satisfies Record<string, Fail>;
export type Failure = keyof typeof FAILURES;

export interface EchoingPlatform {
  readonly url: string;
  failsBy: Failure;
  /** All requests that it ever got. */
  readonly sent: readonly string[];
  readonly close: () => Promise<void>;
}

export async function startEchoingPlatform(): Promise<EchoingPlatform> {
  const sent: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const everything = `${JSON.stringify(request.headers)} ${body}`;
      sent.push(everything);
      FAILURES[platform.failsBy](response, everything);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const platform: EchoingPlatform = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    failsBy: 'a 400 that repeats it',
    sent,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return platform;
}
