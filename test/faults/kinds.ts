/** All kinds of faults, grouped by what fails. */
import type { Kind } from './kind.ts';
import { DATABASE_KINDS } from './kinds/database.ts';
import { FOLDER_KINDS } from './kinds/folders.ts';
import { OBJECT_KINDS } from './kinds/objects.ts';
import { PLATFORM_KINDS } from './kinds/platform.ts';
import { PROCESS_KINDS } from './kinds/process.ts';

export const FAULT_KINDS: readonly Kind[] = [
  ...DATABASE_KINDS,
  ...OBJECT_KINDS,
  ...PLATFORM_KINDS,
  ...PROCESS_KINDS,
  ...FOLDER_KINDS,
];
