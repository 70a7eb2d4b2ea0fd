/** Servers that take alerts in a test: a webhook over HTTP, and a mail server. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Answers a request; without it 204. */
type Answer = (response: ServerResponse, count: number) => void;

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** The bodies as JSON. */
  readonly documents: () => Record<string, unknown>[];
  answer: Answer;
  readonly close: () => Promise<void>;
}

export async function startReceiver(
  answer: Answer = (response) => response.writeHead(204).end(),
): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8');
      received.push({ method: request.method!, path: request.url!, headers: request.headers, text });
      receiver.answer(response, received.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/secret-part`,
    received,
    documents: () => received.map(({ text }) => JSON.parse(text) as Record<string, unknown>),
    answer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}

export interface Mailbox {
  readonly url: string;
  readonly mails: { readonly to: readonly string[]; readonly from: string; readonly text: string }[];
  readonly close: () => Promise<void>;
}

/**
 * A mail server on loopback. With `refuses`, it refuses every mail with that status; it takes one after `looksMs`, and
 * none for the addresses that are in `unknown`, which it refuses with `status`. `onMail` is called before a mail is answered, and `sizeMax`
 * is the size that it says it takes.
 */
export async function startMailbox({
  refuses,
  looksMs = 0,
  unknown = new Set(),
  status = 450,
  onMail,
  sizeMax,
  port: at = 0,
}: {
  readonly refuses?: number;
  readonly looksMs?: number;
  readonly unknown?: ReadonlySet<string>;
  readonly status?: number;
  readonly onMail?: (mail: Mailbox['mails'][number]) => void;
  readonly sizeMax?: number;
  readonly port?: number;
} = {}): Promise<Mailbox> {
  const mails: Mailbox['mails'] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    ...(sizeMax !== undefined && { size: sizeMax }),
    onRcptTo: ({ address }, _session, done) =>
      unknown.has(address)
        ? done(Object.assign(new Error('no such user'), { responseCode: status }))
        : done(),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const answer = stream.sizeExceeded ? 552 : refuses;
        if (answer !== undefined) {
          done(Object.assign(new Error('no such user ops@company.example'), { responseCode: answer }));
          return;
        }
        const { mailFrom, rcptTo } = session.envelope;
        const mail = {
          to: rcptTo.map(({ address }) => address),
          from: mailFrom === false ? '' : mailFrom.address,
          text: Buffer.concat(chunks).toString('utf8'),
        };
        mails.push(mail);
        onMail?.(mail);
        setTimeout(done, looksMs);
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
