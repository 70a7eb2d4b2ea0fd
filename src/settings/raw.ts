/** Settings as given, before anything is checked. */
import type { SettingPlace } from './schema.ts';

/** Raw values by section and key, and how the user knows each: by its environment name or by its place in the file. */
export interface RawSettings {
  readonly sections: Record<string, Record<string, unknown>>;
  readonly sources: Map<SettingPlace, string>;
}
