/** The codes that mean success in a reply of the platform, where the settings name no others. */
export const SUCCESS_CODES: readonly string[] = [
  'S00000',
  'S00001',
  '0',
  '200',
  '201',
  '202',
  'S',
  'OK',
  'SUCCESS',
  'SUCCEED',
  'SUCCEEDED',
  'SUCCESSFUL',
  'ACCEPT',
  'ACCEPTED',
  'TRUE',
];

/** Whether a code is one of the list. Case does not matter, and zeros alone are as good as one zero. */
export function createSuccessCheck(codes: readonly string[]): (code: string) => boolean {
  const plain = (code: string): string => code.trim().toUpperCase().replace(/^0+$/, '0');
  const known = new Set(codes.map(plain));
  return (code) => known.has(plain(code));
}
