/** A process without one of the options, as if its lines were not in the list. */
import { OPTIONS } from '../../src/options/all.ts';
import type { Option } from '../../src/options/option.ts';

/** Calls `work` while the list lacks this option. What took it from the list before keeps it, such as the list of commands. */
export async function without<Made>(name: string, work: () => Promise<Made>): Promise<Made> {
  const list = OPTIONS as Option[];
  const at = list.findIndex((option) => option.name === name);
  const gone = list.splice(at, 1);
  try {
    return await work();
  } finally {
    list.splice(at, 0, ...gone);
  }
}
