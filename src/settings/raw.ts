/** Settings as given, before any check. */
import type { SettingPlace } from './schema.ts';

/** Values by section and key. `sources` has the name the user gave each by: a variable, or a key in the file. */
export interface RawSettings {
  readonly sections: Record<string, Record<string, unknown>>;
  readonly sources: Map<SettingPlace, string>;
}
