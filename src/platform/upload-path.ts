/**
 * Checks paths of uploaded documents. A path must be what the platform's file upload returned, not a local file name
 * or a URL, for which the platform refuses the request (docs/platform.md 2.5, 4.3 rule 1). The form of a path is a
 * setting, as the document does not show it.
 */

const FIX = 'give the path that the platform’s file upload operation returned';

export interface FilePathRules {
  /** Regular expression that the complete path must match: `PLATFORM_FILE_PATHS`. */
  readonly filePaths: string;
  /** Whether this machine has a file of that name. Then it is no uploaded one. */
  readonly isLocalFile: (path: string) => boolean;
}

/** What the path resembles instead. */
function seemsToBe(path: string): string {
  if (/^[a-z][a-z\d+.-]+:/i.test(path)) return 'is a URL';
  if (/^[a-z]:|\\/i.test(path) || /^(?:~|\.{1,2}\/)/.test(path)) return 'is a path of a local computer';
  if (!path.includes('/')) return 'is a local file name';
  return 'does not match the paths of uploaded files (PLATFORM_FILE_PATHS)';
}

/**
 * Why a text cannot be the path of an uploaded file, as the end of a sentence that begins with the field's name; null
 * if it can.
 */
export function uploadPathProblem(path: string, { filePaths, isLocalFile }: FilePathRules): string | null {
  if (!new RegExp(filePaths, 'u').test(path)) return `${seemsToBe(path)}; ${FIX}`;
  if (path.split('/').some((part) => part === '..' || part === '.')) return `is not a plain path; ${FIX}`;
  return isLocalFile(path) ? `is a file of this computer; ${FIX}` : null;
}
