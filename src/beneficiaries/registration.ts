/**
 * A beneficiary registration as sp1401 takes it (docs/platform.md 2.5): an enterprise or an individual, told
 * apart by `bizMode`. Here stands what each field has to be by itself; what fields ask of each other is in
 * rules.ts.
 */
import { z } from 'zod';
import { isCountryCode } from '../ledger/countries.ts';
import {
  CONTROL_BUT_SPACE,
  hasLatinLettersOnly,
  isDay,
  isHttps,
  matching,
  oneOf,
  textsOf,
} from '../forms/text.ts';
import { CALLBACK_URL_CHARACTERS_MAX } from '../store/notifications/notify-path.ts';

/** docs/platform.md 8. */
const RELATION_PROOF_FILES_MAX = 3;

const text = textsOf('must be text; in YAML put digits in quotes, so that no leading zero is lost');

const country = text((value) =>
  isCountryCode(value) ? null : 'is no ISO 3166-1 alpha-2 country code: two capitals, such as HK',
);
const currency = text(matching(/^[A-Z]{3}$/, 'must be three capitals, an ISO 4217 code such as USD'));
const bic = text(
  matching(
    /^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/,
    'is no SWIFT/BIC: 8 or 11 capitals and digits, with the country in the fifth and sixth place',
  ),
);
/** A path of an uploaded file; its form is a setting, so it is in rules.ts. */
const upload = text();

const englishName = text((value) =>
  hasLatinLettersOnly(value) ? null : 'must be the English name, in Latin letters',
);

const date = text((value) => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value)) return 'must be a date written YYYY-MM-DD';
  return isDay(value) ? null : 'is no day of the calendar';
});

const emailAddress = text(matching(/^[^\s@]+@[^\s@]+$/, 'is no e-mail address'));

const httpsUrl = text((value) => {
  if (value.length > CALLBACK_URL_CHARACTERS_MAX)
    return `has ${value.length} characters, more than ${CALLBACK_URL_CHARACTERS_MAX}`;
  return isHttps(value) ? null : 'must be an https URL';
});

/** Common to both kinds, in the document's order. */
const common = {
  merOrderNo: text(),
  countryCode: country,
  currency,
  paymentMode: oneOf(['LOCAL', 'SWIFT'], 'LOCAL or SWIFT'),
  payoutType: oneOf(['WALLET', 'BANK'], 'WALLET or BANK, or left out').optional(),
  payoutMethod: text(),
  accountNo: text(),
  bankCode: text().optional(),
  bankName: text().optional(),
  branchCode: text().optional(),
  proxyBankName: text().optional(),
  proxyBankAddress: text().optional(),
  proxyBankSwiftCode: bic.optional(),
  swiftCode: bic.optional(),
  emailNo: emailAddress.optional(),
  phoneAreaCode: text().optional(),
  phoneNo: text().optional(),
  addressCountry: text(),
  addressProvince: text(),
  addressCity: text(),
  addressLine: text(() => null, CONTROL_BUT_SPACE),
  postCode: text().optional(),
  ifscCode: text().optional(),
  cnaps: text().optional(),
  taxIdNumber: text().optional(),
  relationProof: z
    .array(upload, { error: 'must be a list of paths' })
    .refine((paths) => paths.length <= RELATION_PROOF_FILES_MAX, {
      error: `lists more than ${RELATION_PROOF_FILES_MAX} files`,
    })
    .optional(),
  callbackUrl: httpsUrl.optional(),
};

const enterpriseSchema = z.strictObject({
  ...common,
  bizMode: z.literal('B'),
  registerCountry: text(),
  companyName: text(),
  localCompanyName: text().optional(),
  businessLicenseImg: upload.optional(),
  registerCertImg: upload.optional(),
  incorporateCertImg: upload.optional(),
});

const individualSchema = z.strictObject({
  ...common,
  bizMode: z.literal('C'),
  idType: oneOf(['01', '02'], '01 (national ID card) or 02 (passport), in quotes'),
  idNumber: text(),
  firstName: englishName,
  lastName: englishName,
  birthDate: date,
  placeOfBirth: text(),
  nationality: text(),
  gender: oneOf(['M', 'F', 'X'], 'M, F or X'),
  frontCertImg: upload.optional(),
  backCertImg: upload.optional(),
});

/** Where `bizMode` does not tell the kind: what can be checked all the same, fields of either kind let through. */
export const eitherSchema = z.looseObject({
  ...common,
  bizMode: oneOf(['B', 'C'], 'B (enterprise) or C (individual)'),
});

export type EnterpriseRegistration = Readonly<z.output<typeof enterpriseSchema>>;
export type IndividualRegistration = Readonly<z.output<typeof individualSchema>>;
/** Discriminated by `bizMode`. */
export type Registration = EnterpriseRegistration | IndividualRegistration;

export const KINDS = {
  B: { noun: 'an enterprise', schema: enterpriseSchema },
  C: { noun: 'an individual', schema: individualSchema },
} as const;

/** Every field of either kind, in the document's order. */
export const FIELD_NAMES: readonly string[] = [
  ...new Set([...Object.keys(enterpriseSchema.shape), ...Object.keys(individualSchema.shape)]),
];
