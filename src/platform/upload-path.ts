/**
 * Paths of uploaded documents: what the platform's file upload operation returned, never a local file name or a URL,
 * which make it refuse a request (docs/platform.md 2.5, 4.3 rule 1). Their form is a setting, as the document
 * shows none.
 */

const MEND = 'give the path that the platform’s file upload operation returned';

export interface FilePathRules {
  /** Source of the regular expression a whole path matches: `PLATFORM_FILE_PATHS`. */
  readonly filePaths: string;
  /** Whether this machine has a file of that name, which an uploaded one is not. */
  readonly isLocalFile: (path: string) => boolean;
}

/** What a path that is none of the platform's seems to be. */
function seemsToBe(path: string): string {
  if (/^[a-z][a-z\d+.-]+:/i.test(path)) return 'is a URL';
  if (/^[a-z]:|\\/i.test(path) || /^(?:~|\.{1,2}\/)/.test(path)) return 'is a path of a local computer';
  if (!path.includes('/')) return 'is a local file name';
  return 'does not look like an uploaded file (PLATFORM_FILE_PATHS)';
}

/** What keeps a text from being the path of an uploaded file, to be read after the field's name; null where nothing. */
export function uploadPathProblem(path: string, { filePaths, isLocalFile }: FilePathRules): string | null {
  if (!new RegExp(filePaths, 'u').test(path)) return `${seemsToBe(path)}; ${MEND}`;
  if (path.split('/').some((part) => part === '..' || part === '.')) return `is not a plain path; ${MEND}`;
  return isLocalFile(path) ? `is a file of this computer; ${MEND}` : null;
}
