/** Complete and correct registration files, as an integrator writes them. Every name and number is made up. */

export type File = Readonly<Record<string, unknown>>;

/** An enterprise in Hong Kong with a local account. */
export const ENTERPRISE: File = {
  merOrderNo: 'BEN-0001',
  countryCode: 'HK',
  currency: 'HKD',
  paymentMode: 'LOCAL',
  payoutType: 'BANK',
  payoutMethod: 'HK_FPS',
  bizMode: 'B',
  accountNo: '004-123456-001',
  bankCode: 'HK004',
  addressCountry: 'HK',
  addressProvince: 'Hong Kong',
  addressCity: 'Hong Kong',
  addressLine: '1 Example Road & Sons, 12/F',
  registerCountry: 'HK',
  companyName: 'Example Trading Limited',
};

/** An individual in Germany, paid by SWIFT. */
export const INDIVIDUAL: File = {
  merOrderNo: 'BEN-0002',
  countryCode: 'DE',
  currency: 'EUR',
  paymentMode: 'SWIFT',
  payoutMethod: 'WIRE',
  bizMode: 'C',
  accountNo: 'DE02120300000000202051',
  swiftCode: 'BYLADEM1001',
  addressCountry: 'DE',
  addressProvince: 'Bavaria',
  addressCity: 'München',
  addressLine: 'Beispielstraße 7 (rear/left), "Hof"',
  idType: '02',
  idNumber: 'C01X00T47',
  firstName: 'Erika',
  lastName: 'Mustermann',
  birthDate: '1984-02-29',
  placeOfBirth: 'DE',
  nationality: 'DE',
  gender: 'F',
};

/** The file without the named fields. */
export const without = (file: File, ...names: readonly string[]): File =>
  Object.fromEntries(Object.entries(file).filter(([name]) => !names.includes(name)));
