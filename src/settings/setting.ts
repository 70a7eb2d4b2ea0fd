/** How a setting is declared: once, where it is used, by its name in the environment. `load.ts` reads what is declared. */
import type { z } from 'zod';
import type { PackageUse } from '../host/packages.ts';
import { register } from '../host/slot.ts';
import type { AskedOfPlugins } from './asked-of-plugins.ts';

export interface Setting<Type extends z.ZodType = z.ZodType> {
  /** Its type, with its default. In the environment each value is a text. */
  readonly schema: Type;
  /** What it is for: the text of the reference and of the example file. */
  readonly about: string;
  /** A value that is accepted, or where to find one. */
  readonly example: string;
  /** Messages never repeat its value, and NAME_FILE may name a file that holds it. */
  readonly secret: boolean;
}

export const setting = <Type extends z.ZodType>(
  schema: Type,
  about: string,
  { example, secret = false }: { readonly example: string; readonly secret?: boolean },
): Setting<Type> => ({ schema, about, example, secret });

export type Declared = Readonly<Record<string, Setting>>;

/** Where a setting stands in the file: `PLATFORM_TIMEOUT_MS` is `timeoutMs` of the section `platform`. */
export function placeOf(name: string): { readonly section: string; readonly key: string } {
  const [section = '', ...words] = name.toLowerCase().split('_');
  const key = words.map((word, at) => (at === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)));
  return { section, key: key.join('') };
}

type Camel<Words extends string> = Words extends `${infer First}_${infer More}`
  ? `${First}${Capitalize<Camel<More>>}`
  : Words;
type KeyOf<Name> = Name extends `${string}_${infer Words}` ? Camel<Lowercase<Words>> : never;

/** Every value that was read, by the setting's name. */
export type Given = Readonly<Record<string, unknown>>;

/** The values of these settings by their keys in the file. Settings of one section, or whose keys differ. */
export type Read<Some extends Declared> = {
  readonly [Name in keyof Some as KeyOf<Name>]: z.output<Some[Name]['schema']>;
};

export const read = <Some extends Declared>(declared: Some, given: Given): Read<Some> =>
  Object.fromEntries(Object.keys(declared).map((name) => [placeOf(name).key, given[name]])) as Read<Some>;

/** Sentences on settings that do not go together, each with whether it applies. First stands the setting to give or change. */
export type Rules = Readonly<Record<string, boolean>>;

/** A setting that asks for what an optional package does, and whether it does. */
export type AskedUse = readonly [name: string, isAsked: boolean, use: PackageUse];

/** The settings of a plugin. */
export interface SettingsGroup<Value extends object = object> {
  readonly declared: Declared;
  readonly rules: (given: Given) => Rules;
  readonly uses: (given: Given) => readonly AskedUse[];
  /** What they add to the settings of the program. */
  readonly value: (given: Given) => Value;
  /** The program's settings as this plugin knows them. */
  readonly of: <Known extends object>(settings: Known) => Omit<Known, keyof Value> & Value;
}

/** What the core asks of plugins has the type that the core expects. */
type Fitting<Value> = {
  readonly [Key in keyof Value]: Key extends keyof AskedOfPlugins ? AskedOfPlugins[Key] : unknown;
};

/** Puts the settings of a plugin together. `rules` and `uses` get the values of all settings as well. */
export const settingsGroup = <const Some extends Declared, Value extends object & Fitting<Value>>(
  declared: Some,
  parts: {
    readonly value: (own: Read<Some>, given: Given) => Value;
    readonly rules?: (own: Read<Some>, given: Given) => Rules;
    readonly uses?: (own: Read<Some>) => readonly AskedUse[];
  },
): SettingsGroup<Value> => ({
  declared,
  rules: (given) => parts.rules?.(read(declared, given), given) ?? {},
  uses: (given) => parts.uses?.(read(declared, given)) ?? [],
  value: (given) => parts.value(read(declared, given), given),
  of: <Known extends object>(settings: Known) => settings as unknown as Omit<Known, keyof Value> & Value,
});

/** Load the settings of plugins, in the order of the plugins. */
export const pluginSettings = register<() => Promise<SettingsGroup>>('settings');
