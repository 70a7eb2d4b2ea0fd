/** Settings of a demo: in a file of its own, written when first needed, so that what to type next goes on with it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadSettings } from '../../settings/load.ts';
import type { Settings } from '../../settings/settings.ts';
import { PORT_DEFAULT } from '../sandbox.ts';

/** Where `daybook sandbox` listens. */
export const SANDBOX_URL = `http://127.0.0.1:${PORT_DEFAULT}`;

/**
 * Settings from the file at `path`, written from `text` where there is none, with the platform at `url`. The
 * environment stays out, as it may speak of a real installation. Throws `SettingsInvalid`.
 */
export function settingsForDemo(path: string, text: () => string, url: string): Settings {
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text(), { mode: 0o600 });
  }
  const settings = loadSettings({
    env: {},
    configPath: path,
    readFile: (file) => readFileSync(file, 'utf8'),
    needs: ['platform'],
  });
  return { ...settings, platform: { ...settings.platform, baseUrl: url } };
}
