/**
 * One request and its complete reply. It hands undici plain functions instead of streams: those and their abort signals
 * cost several times as much as all else of a call.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

/** Most bytes of a reply that are read; a page of 100 entries has about 20 kB. */
export const REPLY_BYTES_MAX = 4_194_304;

export interface FullReply {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  /** Null if the body is longer than `REPLY_BYTES_MAX`; then the rest of it is not read. */
  readonly bytes: Buffer | null;
  /** When, by the machine's clock, the reply's head arrived. */
  readonly receivedMs: number;
}

type Head = Omit<FullReply, 'bytes'>;

export class Exchange implements Dispatcher.DispatchHandler {
  readonly #machineMs: () => number;
  readonly #reply = Promise.withResolvers<FullReply>();
  #controller: Dispatcher.DispatchController | null = null;
  #givenUpFor: Error | null = null;
  #head: Head | null = null;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #sentMs: number;
  #isBegun = false;

  constructor(machineMs: () => number) {
    this.#machineMs = machineMs;
    this.#sentMs = machineMs();
  }

  /** Whether a byte of the request may have left. */
  get isBegun(): boolean {
    return this.#isBegun;
  }

  /** When, by the machine's clock, the request was written. */
  get sentMs(): number {
    return this.#sentMs;
  }

  /** What it was given up for, see `abort`. */
  get givenUpFor(): Error | null {
    return this.#givenUpFor;
  }

  /** Rejects with the error of the connection, or with the reason given to `abort`. */
  send(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions): Promise<FullReply> {
    dispatcher.dispatch(request, this);
    return this.#reply.promise;
  }

  /** Gives the exchange up, with its connection. While it waits for a connection, it fails as soon as there is one. */
  abort(reason: Error): void {
    this.#givenUpFor ??= reason;
    this.#controller?.abort(this.#givenUpFor);
  }

  /** There is a connection, and the request is about to be written: before that, not a byte of it has left. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#givenUpFor !== null) {
      controller.abort(this.#givenUpFor);
      return;
    }
    this.#controller = controller;
    this.#isBegun = true;
    this.#sentMs = this.#machineMs();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    // An interim answer; the reply follows.
    if (statusCode < 200) return;
    this.#head = { statusCode, headers, receivedMs: this.#machineMs() };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= REPLY_BYTES_MAX) {
      this.#chunks.push(chunk);
      return;
    }
    this.#reply.resolve({ ...this.#head!, bytes: null });
    controller.abort(new Error('the reply is too long'));
  }

  onResponseEnd(): void {
    const chunks = this.#chunks;
    this.#reply.resolve({
      ...this.#head!,
      bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks),
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reply.reject(error);
  }
}
