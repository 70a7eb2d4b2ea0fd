/** A line to the sandbox that is not the same for every merchant: what one gets is made by the test, the rest passes. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import type { TransportDeps } from '../../src/platform/transport.ts';
import type { PlatformSettings } from '../../src/platform/settings.ts';
import { openPlatform } from '../../src/run/app.ts';
import type { Stage } from './stage.ts';
import { skippingTime } from './virtual-time.ts';

/** One call of a merchant: `pass` gets what the sandbox says to it. */
export interface PassingCall {
  readonly merchantNo: string;
  readonly body: string;
  readonly response: ServerResponse;
  readonly pass: () => Promise<string>;
}
export type Conduct = (call: PassingCall) => void | Promise<void>;

/** Answers with what the sandbox says, changed. */
export const spoiling =
  (spoil: (reply: string) => string): Conduct =>
  async ({ response, pass }) =>
    void response.end(spoil(await pass()));

/** Stands before a stage's sandbox; merchants without a conduct of their own are passed through. */
export async function gatewayTo(stage: Stage, conducts: Readonly<Record<string, Conduct>>) {
  const calls: { readonly merchantNo: string; readonly body: string }[] = [];
  const target = stage.app.settings.platform.baseUrl;
  const server = createServer((request, response) => {
    const merchantNo = String(request.headers['merchantno']);
    const answer = async (): Promise<void> => {
      const body = await text(request);
      calls.push({ merchantNo, body });
      const pass = async (): Promise<string> => {
        const { authorization = '' } = request.headers;
        const headers = { 'content-type': 'application/json', merchantNo, authorization };
        return (await fetch(`${target}${request.url ?? ''}`, { method: 'POST', headers, body })).text();
      };
      const conduct = conducts[merchantNo];
      if (conduct === undefined) response.end(await pass());
      else await conduct({ merchantNo, body, response, pass });
    };
    answer().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  /** A reader through this gateway; waits between calls take no time unless `deps` say otherwise. */
  const reader = (more: Partial<PlatformSettings> = {}, deps: Partial<TransportDeps> = {}): LedgerReader => {
    const settings = stage.app.settings;
    const platform = openPlatform(
      { ...settings, platform: { ...settings.platform, baseUrl: url, ...more } },
      { transport: { ...skippingTime(), ...deps } },
    );
    onTestFinished(platform.close);
    return platform.reader;
  };
  return { url, calls, reader };
}
