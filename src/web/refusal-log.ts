/** Tells of refusals without a line for each of a flood: the first few of a kind, and then how many more there were. */
import type { WebEvent } from './server.ts';

/** Lines of one kind told in a spell; what is beyond is counted, and the count told with the first of a later spell. */
export const LINES_A_SPELL = 5;
export const SPELL_MS = 10_000;
/** Kinds there are few of: route, status and reason are our own words. Never more than this are remembered. */
const KINDS_MAX = 200;

interface Spell {
  begunMs: number;
  told: number;
  untold: number;
}

export interface ToldEvent extends WebEvent {
  /** As many of the same kind were not told since. */
  readonly untold?: number;
}

/** Calls `tell` for some of the events it is given; `flush` tells the counts that are left. */
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
