/** How `verify` is asked: words of the command's help, and of that of the file for auditors. */

export const VERIFY_ABOUT =
  'check downloaded statements against their manifest, offline: file size, checksum (SHA-256), balance chain';

export const PATHS = ['<path...>', 'statements, manifests, ZIPs or folders of them'] as const;

export const PUBLIC_KEY = [
  '--public-key <key>',
  'public key of the pair that signed the manifests, or a file with it: checks signatures, and that no manifest is missing ' +
    'between those given; may be repeated',
] as const;

export const COMPLETE = [
  '--whole, --complete',
  'you give all manifests and closes of these merchants; each missing one is reported as a problem (--whole is the earlier name)',
] as const;

export const EXAMPLES =
  '\nExamples:\n  daybook verify downloads/\n  daybook verify --public-key daybook.pub downloads/\n' +
  '  daybook verify --public-key daybook.pub --complete statements/';
