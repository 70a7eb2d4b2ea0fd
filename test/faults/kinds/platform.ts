/** Faults of the platform: it fails, or answers wrongly. */
import type { Fate } from '../../support/proxy.ts';
import { PLACES, pickOf } from '../case.ts';
import { atByte, atNth, calls, type Kind, type Scene } from '../kind.ts';
import { wireAway, wireGone, wireHalfOpen, wireSlow } from './wires.ts';

const common = { places: PLACES, names: /sp2404|platform|SBX-M-/i };
const end = ({ drawn }: Scene): 'cut' | 'reset' => (drawn.pick < 0.5 ? 'cut' : 'reset');
const SLOW_MS_MAX = 100;
const REFUSALS_MAX = 4;
const WRONG_ROWS = ['missingRowsEvery', 'duplicateRowsEvery', 'wrongTotalsEvery'] as const;

const answering = (status: string, header = ''): Fate => ({
  answer: `HTTP/1.1 ${status}\r\n${header}content-length: 0\r\nconnection: close\r\n\r\n`,
});
const answers = (status: string, header?: string) => (scene: Scene) => {
  const more = 1 + Math.floor(scene.drawn.more * REFUSALS_MAX);
  atNth(scene, 'platform', calls(scene, 'platform', more), () => answering(status, header));
  return {};
};

export const PLATFORM_KINDS: readonly Kind[] = [
  {
    ...common,
    name: 'platform-cut-going',
    fault: 'the connection is cut within a call',
    exits: [0, 4],
    plant: (scene) => {
      atByte(scene, 'platform', 'up', (through) => ({ through, then: end(scene) }));
      return {};
    },
  },
  {
    ...common,
    name: 'platform-cut-coming',
    fault: 'the connection is cut within a reply',
    exits: [0, 4],
    plant: (scene) => {
      atByte(scene, 'platform', 'down', (through) => ({ through, then: end(scene) }));
      return {};
    },
  },
  {
    ...common,
    name: 'platform-away',
    fault: 'it is killed and back within 3 s',
    exits: [0, 4],
    plant: wireAway('platform'),
  },
  {
    ...common,
    name: 'platform-gone',
    fault: 'it is killed and stays away',
    exits: [0, 4],
    plant: wireGone('platform'),
  },
  {
    ...common,
    name: 'platform-slow',
    fault: 'each message takes up to 100 ms longer',
    exits: [0],
    plant: wireSlow('platform', SLOW_MS_MAX),
  },
  {
    ...common,
    name: 'platform-half-open',
    fault: 'its wire swallows everything and stays open',
    exits: [0, 4],
    isSlow: true,
    plant: wireHalfOpen('platform'),
  },
  {
    ...common,
    name: 'platform-503',
    fault: 'up to 4 calls are answered with 503',
    exits: [0, 4],
    plant: answers('503 Service Unavailable'),
  },
  {
    ...common,
    name: 'platform-429',
    fault: 'up to 4 calls are answered with 429 and Retry-After',
    exits: [0, 4],
    plant: answers('429 Too Many Requests', 'retry-after: 1\r\n'),
  },
  {
    ...common,
    name: 'platform-empty-replies',
    fault: 'up to 4 calls are answered with 200 and nothing',
    exits: [0, 4],
    plant: answers('200 OK'),
  },
  {
    ...common,
    name: 'platform-wrong-rows',
    fault: 'up to 3 pages lack a row, repeat one, or have a wrong total',
    exits: [0, 4],
    plant: (scene) => {
      const way = pickOf(WRONG_ROWS, scene.drawn.pick);
      const every = 1 + Math.floor(scene.drawn.at * scene.measure.calls.platform);
      scene.world.sandbox.setHostility({ [way]: every, strikesMax: 1 + Math.floor(scene.drawn.more * 3) });
      scene.struck();
      return {};
    },
  },
];
