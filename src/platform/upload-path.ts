/**
 * Checks paths of uploaded documents, and images. A path must be what the platform's file upload returned, not a local
 * file name or a URL, for which the platform refuses the request (docs/platform.md 2.5, 4.3 rule 1). The form of a path
 * and the forms of an image are settings, as the document does not show them.
 */

const FIX = 'give the path that the platform’s file upload operation returned';

export interface FilePathRules {
  /** Regular expression that the complete path must match: `PLATFORM_FILE_PATHS`. */
  readonly filePaths: string;
  /** Whether this machine has a file of that name. Then it is no uploaded one. */
  readonly isLocalFile: (path: string) => boolean;
}

type ImageKind = 'path' | 'base64' | 'dataUrl' | 'url';

export interface ImageRules extends FilePathRules {
  /** `PLATFORM_IMAGES`. */
  readonly images: readonly ImageKind[];
}

/** A longer text is no path. */
export const FILE_PATH_CHARACTERS_MAX = 1_024;

const URL_SCHEME = /^(?:[a-z][a-z\d+.-]+:|www\.)/i;

/** What the path resembles instead. */
function seemsToBe(path: string): string {
  if (URL_SCHEME.test(path)) return 'is a URL';
  if (/^[a-z]:|\\/i.test(path) || /^(?:~|\.{1,2}\/)/.test(path)) return 'is a path of a local computer';
  if (!path.includes('/')) return 'is a local file name';
  return 'does not match the paths of uploaded files (PLATFORM_FILE_PATHS)';
}

/** Why a text is no path of an uploaded file; null if it can be one. */
function wrongPath(path: string, { filePaths, isLocalFile }: FilePathRules): string | null {
  if (!new RegExp(filePaths, 'u').test(path)) return seemsToBe(path);
  if (path.split('/').some((part) => part === '..' || part === '.')) return 'is not a plain path';
  return isLocalFile(path) ? 'is a file of this computer' : null;
}

/**
 * Why a text cannot be the path of an uploaded file, as the end of a sentence that begins with the field's name; null
 * if it can.
 */
export function uploadPathProblem(path: string, rules: FilePathRules): string | null {
  const wrong = wrongPath(path, rules);
  return wrong === null ? null : `${wrong}; ${FIX}`;
}

/** Shorter texts are names. The smallest image has 90 characters. */
const BASE64 = /^[\w+/-]{64,}={0,2}$/;

const IS_OF_KIND: Readonly<Record<ImageKind, (text: string, rules: FilePathRules) => boolean>> = {
  path: (text, rules) => text.length <= FILE_PATH_CHARACTERS_MAX && wrongPath(text, rules) === null,
  base64: (text) => BASE64.test(text),
  dataUrl: (text) => /^data:image\/[\w.+-]+(?:;[\w=.-]+)*,\S+$/i.test(text),
  url: (text) => /^https:\/\//i.test(text) && URL.canParse(text),
};

const KIND_NAMES: Readonly<Record<ImageKind, string>> = {
  path: 'an uploaded path',
  base64: 'base64',
  dataUrl: 'a data URL',
  url: 'an https URL',
};

/** The same for an image. */
export function imageProblem(text: string, rules: ImageRules): string | null {
  const { images } = rules;
  if (images.some((kind) => IS_OF_KIND[kind](text, rules))) return null;
  const names = images
    .map((kind) => KIND_NAMES[kind])
    .join(', ')
    .replace(/, ([^,]*)$/, ' or $1');
  return `${notAnImage(text, rules)}; give ${names} (PLATFORM_IMAGES)`;
}

function notAnImage(text: string, rules: FilePathRules): string {
  const kinds = Object.keys(KIND_NAMES) as ImageKind[];
  const ofKind = kinds.find((kind) => IS_OF_KIND[kind](text, rules));
  if (ofKind !== undefined) return `is ${KIND_NAMES[ofKind]}`;
  if (URL_SCHEME.test(text)) return 'is a URL of another kind';
  return text.length > FILE_PATH_CHARACTERS_MAX ? 'is no base64' : wrongPath(text, rules)!;
}
