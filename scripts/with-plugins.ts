/** Loaded before a script that asks the core for what plugins add: their parts have to be there before it reads them. */
import { PLUGINS } from '../src/main.ts';
import { registerPlugins } from '../src/plugin.ts';

registerPlugins(PLUGINS);
