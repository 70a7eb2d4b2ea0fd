/** Faults of the S3 server: it fails, or answers wrongly. */
import type { Chunk, Fate } from '../../support/proxy.ts';
import { atByte, atNth, calls, puts, type Kind, type Scene } from '../kind.ts';
import { wireAway, wireGone, wireHalfOpen, wireSlow } from './wires.ts';

const common = { places: ['s3'] as const, names: /object store|s3:/i };
const end = ({ drawn }: Scene): 'cut' | 'reset' => (drawn.pick < 0.5 ? 'cut' : 'reset');
const SLOW_MS_MAX = 40;
const REFUSALS_MAX = 8;

const refusing = (status: string, code: string): Fate => {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>made up</Message></Error>`;
  return {
    answer: `HTTP/1.1 ${status}\r\ncontent-type: application/xml\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  };
};
const refusals =
  (status: string, code: string, isSpared: (request: string) => boolean = () => false) =>
  (scene: Scene) => {
    const all = calls(scene, 'objects', 1 + Math.floor(scene.drawn.more * REFUSALS_MAX));
    const is = (chunk: Chunk): boolean => all.is(chunk) && !isSpared(chunk.bytes.toString('latin1'));
    atNth(scene, 'objects', { ...all, is }, () => refusing(status, code));
    return {};
  };
/** A revision is published without a file before it that may not be read. Its reason says so, and differs. */
const readsStatement = (request: string): boolean => /^GET \S+\.csv\b/.test(request);

export const OBJECT_KINDS: readonly Kind[] = [
  {
    ...common,
    name: 's3-cut-going',
    fault: 'the connection is cut within a request',
    exits: [0, 4],
    plant: (scene) => {
      atByte(scene, 'objects', 'up', (through) => ({ through, then: end(scene) }));
      return {};
    },
  },
  {
    ...common,
    name: 's3-cut-coming',
    fault: 'the connection is cut within an answer',
    exits: [0, 4],
    plant: (scene) => {
      atByte(scene, 'objects', 'down', (through) => ({ through, then: end(scene) }));
      return {};
    },
  },
  {
    ...common,
    name: 's3-put-lost',
    fault: 'an object is taken, the answer is lost',
    exits: [0, 4],
    plant: (scene) => {
      atNth(scene, 'objects', puts(scene), () => 'lose-answer');
      return {};
    },
  },
  {
    ...common,
    name: 's3-away',
    fault: 'the server is killed and back within 3 s',
    exits: [0, 4],
    plant: wireAway('objects'),
  },
  {
    ...common,
    name: 's3-gone',
    fault: 'the server is killed and stays away',
    exits: [0, 4],
    plant: wireGone('objects'),
  },
  {
    ...common,
    name: 's3-slow',
    fault: 'each message takes up to 40 ms longer',
    exits: [0],
    plant: wireSlow('objects', SLOW_MS_MAX),
  },
  {
    ...common,
    name: 's3-half-open',
    fault: 'its wire swallows everything and stays open',
    exits: [0, 4],
    isSlow: true,
    plant: wireHalfOpen('objects'),
  },
  {
    ...common,
    name: 's3-slow-down',
    fault: 'up to 8 requests are answered with SlowDown',
    exits: [0, 4],
    plant: refusals('503 Slow Down', 'SlowDown'),
  },
  {
    ...common,
    name: 's3-internal-error',
    fault: 'up to 8 requests are answered with InternalError',
    exits: [0, 4],
    plant: refusals('500 Internal Server Error', 'InternalError'),
  },
  {
    ...common,
    name: 's3-denied',
    fault: 'up to 8 requests are answered with AccessDenied',
    exits: [0, 2, 4],
    plant: refusals('403 Forbidden', 'AccessDenied', readsStatement),
  },
];
