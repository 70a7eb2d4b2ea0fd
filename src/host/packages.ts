/**
 * Packages that only some settings need. They are not installed with daybook: package.json has them as optional peers, and
 * who uses one installs it next to daybook. The image has all of them.
 */
import { findPackageJSON } from 'node:module';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { ownManifest } from './files.ts';

/** What needs them, as messages name it. */
const OPTIONAL_PACKAGES = {
  'the embedded database, used where DATABASE_URL is not set': ['@electric-sql/pglite'],
  'PDF statements': ['pdfkit'],
  'books kept as XLSX': ['hucre'],
  'alerts by mail': ['nodemailer'],
  'statements by mail': ['nodemailer'],
  'a login by OpenID Connect': ['openid-client'],
  'the queue of workers': ['pg-boss'],
  traces: [
    '@opentelemetry/api',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/exporter-trace-otlp-proto',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace-base',
  ],
} as const;

export type PackageUse = keyof typeof OPTIONAL_PACKAGES;

/** A package is missing that the settings or the command need. */
class PackagesMissing extends ExpectedError {
  override readonly name = 'PackagesMissing';
  readonly exitCode = EXIT.usage;
}

/** Whether a package is installed where daybook finds it. */
export function isInstalled(name: string): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined;
  } catch {
    return false;
  }
}

export interface Missing {
  /** Names of packages, as a sentence lists them. */
  readonly names: string;
  /** The command that installs them in the versions that daybook was tested with. */
  readonly install: string;
}

/** Which packages of this use are missing; null if none is. */
export function missingPackages(
  use: PackageUse,
  isThere: (name: string) => boolean = isInstalled,
): Missing | null {
  const missing = OPTIONAL_PACKAGES[use].filter((name) => !isThere(name));
  if (missing.length === 0) return null;
  const { peerDependencies } = ownManifest();
  return {
    names: missing.join(', '),
    install: `npm install ${missing.map((name) => `${name}@${peerDependencies[name]!}`).join(' ')}`,
  };
}

/** Loads packages of this use. Throws `PackagesMissing` where they are not installed. */
export async function loadFor<Loaded>(use: PackageUse, load: () => Promise<Loaded>): Promise<Loaded> {
  const missing = missingPackages(use);
  if (missing !== null)
    throw new PackagesMissing(
      `not installed: ${missing.names}, for ${use}. Install it next to daybook: ${missing.install}`,
    );
  return load();
}
