/** Combines config file and environment into checked settings, or reports every problem. */
import { missingPackages } from '../host/packages.ts';
import { callRules, requiredRules } from '../platform/settings.ts';
import { WITHOUT_PLUGINS } from './asked-of-plugins.ts';
import { CORE, DAYBOOK } from './core.ts';
import { SettingsInvalid, type SettingsProblem } from './problem.ts';
import {
  pluginSettings,
  read,
  type AskedUse,
  type Declared,
  type Given,
  type Rules,
  type SettingsGroup,
} from './setting.ts';
import { coreSettings, type Settings, type SettingsWithoutPlatform } from './settings.ts';
import { readConfigFile, readEnvironment, type RawSettings, type SettingsSource } from './sources.ts';

const OF_PLUGINS: readonly SettingsGroup[] = await Promise.all(pluginSettings.all().map((load) => load()));

const declaredIn = (groups: readonly SettingsGroup[]): Declared =>
  Object.assign({}, CORE, ...groups.map(({ declared }) => declared)) as Declared;

/** Every setting of the program by its name: those of the core, then those of the plugins. */
export const ALL_SETTINGS: Declared = declaredIn(OF_PLUGINS);

const SHOWN_VALUE_CHARACTERS_MAX = 60;

const shown = (value: unknown, isSecret: boolean): string => {
  if (isSecret || !['string', 'number', 'boolean'].includes(typeof value)) return '';
  const text = String(value);
  // The user part or the query of a URL may hold a password that does not belong there.
  if (/[@?]/.test(text)) return '';
  return text.length <= SHOWN_VALUE_CHARACTERS_MAX ? ` (it is '${text}')` : '';
};

/** The values of all settings; those that are wrong are left out, and added to `problems`. */
function valuesOf(declared: Declared, raw: RawSettings, problems: SettingsProblem[]): Given {
  const values: Record<string, unknown> = {};
  for (const [name, { schema, example, secret }] of Object.entries(declared)) {
    const { value, from = name } = raw.get(name) ?? {};
    const parsed = schema.safeParse(value);
    if (parsed.success) values[name] = parsed.data;
    else
      for (const { message } of parsed.error.issues)
        problems.push({ key: from, problem: `${message}${shown(value, secret)}`, example });
  }
  return values;
}

const problemsIn = (rules: Rules, declared: Declared): SettingsProblem[] =>
  Object.entries(rules).flatMap(([sentence, applies]) => {
    const key = sentence.slice(0, sentence.indexOf(' '));
    const { example } = declared[key]!;
    return applies ? [{ key, problem: sentence.slice(key.length + 1), example }] : [];
  });

/** Node's own variable switches off all certificate checks, so that anyone in between could read every token. */
function certificateProblems(given: Given, env: SettingsSource['env']): SettingsProblem[] {
  const isAllowed = read(DAYBOOK, given).allowInsecure.includes('certificates');
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' || isAllowed) return [];
  const problem =
    'is 0, so that no certificate is checked; take it away and name the authority in NODE_EXTRA_CA_CERTS, or answer ' +
    'for it with DAYBOOK_ALLOW_INSECURE=certificates';
  return [
    { key: 'NODE_TLS_REJECT_UNAUTHORIZED', problem, example: 'NODE_EXTRA_CA_CERTS=/etc/ssl/our-ca.pem' },
  ];
}

/** Settings that need a package which is not installed with daybook. */
const packageProblems = (
  uses: readonly AskedUse[],
  isInstalled: (name: string) => boolean,
): SettingsProblem[] =>
  uses.flatMap(([key, isAsked, use]) => {
    const missing = isAsked ? missingPackages(use, isInstalled) : null;
    if (missing === null) return [];
    const problem = `asks for ${use}, and ${missing.names} is not installed; install it next to daybook`;
    return [{ key, problem, example: missing.install }];
  });

/**
 * Reads the settings. The environment wins over the file, and an empty value counts as not given. Throws
 * `SettingsInvalid` with all problems. With `needs: []` the platform may be missing, and is null then.
 */
export function loadSettings(
  source: SettingsSource & { readonly needs: readonly [] },
): SettingsWithoutPlatform;
export function loadSettings(source: SettingsSource): Settings;
export function loadSettings(source: SettingsSource): SettingsWithoutPlatform {
  const { groups = OF_PLUGINS, env, isInstalled, needs = ['platform'] } = source;
  const declared = declaredIn(groups);
  const configPath = source.configPath ?? (env['DAYBOOK_CONFIG'] || undefined);
  const raw: RawSettings = new Map();
  const problems: SettingsProblem[] = [];
  if (configPath !== undefined) problems.push(...readConfigFile(configPath, source, declared, raw));
  problems.push(...readEnvironment(source, declared, raw));
  const wrong: SettingsProblem[] = [];
  const given = valuesOf(declared, raw, wrong);
  problems.push(...wrong);
  const required = requiredRules((name) => !raw.has(name), needs.includes('platform'));
  problems.push(...problemsIn(required, declared));
  if (wrong.length === 0) {
    for (const rules of [callRules(given), ...groups.map((group) => group.rules(given))])
      problems.push(...problemsIn(rules, declared));
    problems.push(...certificateProblems(given, env));
    if (isInstalled !== undefined)
      problems.push(
        ...packageProblems(
          groups.flatMap((group) => group.uses(given)),
          isInstalled,
        ),
      );
  }
  if (problems.length > 0) throw new SettingsInvalid(problems);
  const asked = groups.map((group) => group.value(given)) as readonly Partial<SettingsWithoutPlatform>[];
  const settings = { ...WITHOUT_PLUGINS, ...coreSettings(given, source.cwd ?? process.cwd()) };
  return Object.assign(settings, ...asked) as SettingsWithoutPlatform;
}
