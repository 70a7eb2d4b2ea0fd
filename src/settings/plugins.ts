/** Which plugins there are, for settings that ask for one. */
import { register } from '../host/slot.ts';

/** Their names. */
export const pluginNames = register<string>('names of plugins');
