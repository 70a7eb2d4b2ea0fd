/** The settings of a demo. They are in a file of their own, so that further commands can use the same settings. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { loadSettings } from '../../settings/load.ts';
import type { Settings } from '../../settings/settings.ts';
import { PORT_DEFAULT } from '../sandbox.ts';

/** The address that `daybook sandbox` listens on. */
export const SANDBOX_URL = `http://127.0.0.1:${PORT_DEFAULT}`;

/**
 * Reads settings from the file at `path`; if there is none, writes it from `text` first. The platform is at `url`.
 * The environment is ignored, as it may belong to a real installation. Throws `SettingsInvalid`.
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
