/** `npm run sbom`: prints the packages that daybook runs with as CycloneDX. */
import { execFileSync } from 'node:child_process';
import { withRuntimeLock } from './runtime-lock.ts';

/** The text of the list. Throws what npm says if it cannot make one. */
export const sbom = (): string =>
  withRuntimeLock((folder) =>
    execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 64e6,
    }),
  );

if (import.meta.main) process.stdout.write(sbom());
