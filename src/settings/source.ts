/** Where settings come from: environment, files, and what a command needs of them. */

export interface SettingsSource {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readFile: (path: string) => string;
  /** Mode of a file, to check that others cannot read it. Without this function nothing is checked. */
  readonly modeOf?: (path: string) => number;
  /** The config file; by default the one that `DAYBOOK_CONFIG` names, if any. */
  readonly configPath?: string | undefined;
  /** The folder from which a relative data directory starts; by default the process's working directory. */
  readonly cwd?: string;
  /** Parts that must be complete. `verify` and `statements` need none. */
  readonly needs?: readonly 'platform'[];
  /** Environment variables that resemble settings and are not, such as the one that `--token-env` names. */
  readonly otherNames?: readonly string[];
}
