/**
 * A proxy in front of the sandbox that treats merchants differently: a test decides what one gets, the others pass
 * through.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import type { TransportDeps } from '../../src/platform/transport.ts';
import type { PlatformSettings } from '../../src/platform/access.ts';
import { openPlatform } from '../../src/run/app.ts';
import type { Stage } from './stage.ts';
import { skippingTime } from './virtual-time.ts';

/** One call of a merchant. `pass` returns the sandbox's answer to it. */
export interface PassingCall {
  readonly merchantNo: string;
  readonly body: string;
  readonly response: ServerResponse;
  readonly pass: () => Promise<string>;
}
export type Conduct = (call: PassingCall) => void | Promise<void>;

/** Answers with the sandbox's answer after a change. */
export const spoiling =
  (spoil: (reply: string) => string): Conduct =>
  async ({ response, pass }) =>
    void response.end(spoil(await pass()));

/** Starts a gateway for a stage's sandbox. Merchants that are not in `conducts` pass through. */
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

  /** A reader that uses this gateway. Waits between calls take no time, unless `deps` say otherwise. */
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
