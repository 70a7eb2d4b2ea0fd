/** Faults of a connection, alike for all servers a run talks to. They begin at some byte that daybook sends. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fate } from '../../support/proxy.ts';
import { atByte, type Kind } from '../kind.ts';
import type { WireName } from '../world.ts';

/** What is away only for a while is back within this time. */
export const AWAY_MS_MAX = 3_000;

/** The connection is away for up to `AWAY_MS_MAX`. */
export const wireAway =
  (wire: WireName): Kind['plant'] =>
  (scene) => {
    const { away, back: comeBack } = scene.world.wires[wire];
    let back = Promise.resolve();
    atByte(scene, wire, 'up', async (): Promise<Fate> => {
      await away();
      back = sleep(scene.drawn.pick * AWAY_MS_MAX).then(comeBack);
      return 'cut';
    });
    return { fix: () => back };
  };

/** The connection stays away. */
export const wireGone =
  (wire: WireName): Kind['plant'] =>
  (scene) => {
    atByte(scene, wire, 'up', async (): Promise<Fate> => {
      await scene.world.wires[wire].away();
      return 'cut';
    });
    return {};
  };

/** Each message takes up to `msMax` ms longer. */
export const wireSlow =
  (wire: WireName, msMax: number): Kind['plant'] =>
  (scene) => {
    const late = () => ({ delayMs: 1 + scene.drawn.pick * msMax });
    atByte(scene, wire, 'up', late, late);
    return {};
  };

/** The connection stays open and delivers nothing. */
export const wireHalfOpen =
  (wire: WireName): Kind['plant'] =>
  (scene) => {
    const swallow = (): Fate => 'swallow';
    atByte(scene, wire, 'up', swallow, swallow);
    return {};
  };
