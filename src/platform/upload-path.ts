/** Where an uploaded file lies at the platform: the only form in which a request may name one (4.3, rule 1). */

const URL_SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:/;
const LOCAL_START = /^(?:~|\.{1,2}(?:\/|$))/;

/**
 * What keeps a text from being a path the file upload operation returned, or null. The document shows no such path, so
 * only what certainly is none is refused: URLs, names and paths of this machine.
 */
export function uploadPathProblem(path: string): string | null {
  if (path.includes('\\') || /^[A-Za-z]:/.test(path)) return mendOf('a path of a Windows machine');
  if (URL_SCHEME.test(path) || path.startsWith('//')) return mendOf('a URL');
  if (LOCAL_START.test(path) || path.split('/').includes('..'))
    return mendOf('a path relative to this machine');
  if (!path.includes('/')) return mendOf('a local file name');
  if (path.endsWith('/')) return mendOf('a folder');
  return null;
}

const mendOf = (kind: string): string =>
  `is ${kind}; upload the file and give the path the platform returned for it`;
