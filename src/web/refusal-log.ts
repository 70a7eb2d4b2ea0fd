/** Logs refusals without a line for each one of a flood: the first few of a kind, and then how many more there were. */
import type { WebEvent } from './server.ts';

/**
 * A spell is a period of `SPELL_MS`. In each spell this many lines of one kind are logged. Further ones are counted,
 * and the first line of a later spell has the count.
 */
export const LINES_A_SPELL = 5;
export const SPELL_MS = 10_000;
/** Most kinds remembered. There are few, as route, status and reason are our own words. */
const KINDS_MAX = 200;

interface Spell {
  begunMs: number;
  told: number;
  untold: number;
}

export interface ToldEvent extends WebEvent {
  /** How many of the same kind were not logged since then. */
  readonly untold?: number;
}

/** Calls `tell` for some of the events it gets. `flush` logs the remaining counts. */
export function createRefusalLog(tell: (event: ToldEvent) => void, clock: () => number) {
  const spells = new Map<string, { readonly event: WebEvent; readonly spell: Spell }>();
  const flush = (): void => {
    for (const { event, spell } of spells.values())
      if (spell.untold > 0) tell({ ...event, untold: spell.untold });
    spells.clear();
  };
  return {
    onEvent: ({ route, status, reason }: WebEvent): void => {
      const event = { route, status, reason };
      const kind = JSON.stringify(event);
      if (!spells.has(kind)) {
        if (spells.size >= KINDS_MAX) flush();
        spells.set(kind, { event, spell: { begunMs: clock(), told: 0, untold: 0 } });
      }
      const { spell } = spells.get(kind)!;
      const { untold } = spell;
      if (clock() - spell.begunMs >= SPELL_MS) Object.assign(spell, { begunMs: clock(), told: 0, untold: 0 });
      if (spell.told >= LINES_A_SPELL) {
        spell.untold += 1;
        return;
      }
      tell(spell.told === 0 && untold > 0 ? { ...event, untold } : event);
      spell.told += 1;
    },
    flush,
  };
}
