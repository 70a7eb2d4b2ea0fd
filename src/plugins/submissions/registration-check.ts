/**
 * A registration as sp1401 takes it (docs/platform.md 2.5), of an enterprise or of an individual, as `bizMode` says:
 * what each field must be by itself, what fields ask of each other (registration-rules.ts), and the check in full before
 * anything is recorded or sent.
 */
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { FormInvalid, problemsOf, unknownField, type Problem } from '../../forms/problem.ts';
import {
  CONTROL_BUT_SPACE,
  EXTRA,
  extraFields,
  extrasIn,
  hasLatinLettersOnly,
  isFields,
  isHttps,
  matching,
  oneOf,
  textsOf,
  withoutBlanks,
} from '../../forms/text.ts';
import { dayOf, isDay } from '../../ledger/business-day.ts';
import { isCountryCode } from '../../ledger/countries.ts';
import { CURRENCY_CODE } from '../../ledger/money.ts';
import { counted } from '../../ledger/text.ts';
import type { DB } from '../../store/engine/schema.ts';
import { CALLBACK_URL_CHARACTERS_MAX } from '../../store/notify-path.ts';
import { listReferenceLists, payoutMethodTypes, referenceCodes } from '../reference/stored.ts';
import {
  RULES,
  type CheckedList,
  type RuleContext,
  type RuleProblem,
  type StoredList,
  type StoredReference,
} from './registration-rules.ts';

/** docs/platform.md 8. */
const RELATION_PROOF_FILES_MAX = 3;

const text = textsOf('must be text; in YAML put digits in quotes, so that no leading zero is lost');
const some = text().optional();

const country = text((value) =>
  isCountryCode(value) ? null : 'is no ISO 3166-1 alpha-2 country code: two capitals, such as HK',
);
const bic = text(
  matching(
    /^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/,
    'is no SWIFT/BIC: 8 or 11 capitals and digits, with the country in the fifth and sixth place',
  ),
);
const englishName = text((value) =>
  hasLatinLettersOnly(value) ? null : 'must be the English name, in Latin letters',
);
const date = text((value) => {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(value)) return 'must be a date written YYYY-MM-DD';
  return isDay(value) ? null : 'is no day of the calendar';
});
const httpsUrl = text((value) => {
  if (value.length > CALLBACK_URL_CHARACTERS_MAX)
    return `has ${value.length} characters, more than ${CALLBACK_URL_CHARACTERS_MAX}`;
  return isHttps(value) ? null : 'must be an https URL';
});

/** The fields of both kinds, in the document's order. The forms of paths and images are settings, so the rules check them. */
const common = {
  merOrderNo: text(),
  countryCode: country,
  currency: text(matching(CURRENCY_CODE, 'must be three capitals, an ISO 4217 code such as USD')),
  paymentMode: oneOf(['LOCAL', 'SWIFT'], 'LOCAL or SWIFT'),
  payoutType: oneOf(['WALLET', 'BANK'], 'WALLET or BANK, or left out').optional(),
  payoutMethod: text(),
  accountNo: text(),
  bankCode: some,
  bankName: some,
  branchCode: some,
  proxyBankName: some,
  proxyBankAddress: some,
  proxyBankSwiftCode: bic.optional(),
  swiftCode: bic.optional(),
  emailNo: text(matching(/^[^\s@]+@[^\s@]+$/, 'is no e-mail address')).optional(),
  phoneAreaCode: some,
  phoneNo: some,
  addressCountry: text(),
  addressProvince: text(),
  addressCity: text(),
  addressLine: text(() => null, CONTROL_BUT_SPACE),
  postCode: some,
  ifscCode: some,
  cnaps: some,
  taxIdNumber: some,
  relationProof: z
    .array(text(), { error: 'must be a list of paths' })
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
  localCompanyName: some,
  businessLicenseImg: some,
  registerCertImg: some,
  incorporateCertImg: some,
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
  frontCertImg: some,
  backCertImg: some,
});

/** For a file whose `bizMode` does not say the kind: checks what both kinds have, and takes fields of either. */
const eitherSchema = z.looseObject({
  ...common,
  bizMode: oneOf(['B', 'C'], 'B (enterprise) or C (individual)'),
});

/** `bizMode` says which of the two it is. */
export type Registration = Readonly<z.output<typeof enterpriseSchema> | z.output<typeof individualSchema>>;

const KINDS = {
  B: { noun: 'an enterprise', schema: enterpriseSchema },
  C: { noun: 'an individual', schema: individualSchema },
} as const;

/** Every field of either kind, in the document's order. */
const FIELD_NAMES: readonly string[] = [
  ...new Set([...Object.keys(enterpriseSchema.shape), ...Object.keys(individualSchema.shape)]),
];
const extraSchema = z.object({
  extra: extraFields([...FIELD_NAMES, EXTRA]).optional(),
});

type CheckedRegistration =
  { readonly registration: Registration } | { readonly problems: readonly Problem[] };

/** Checks the content of a file (docs/platform.md 2.5, 2.6, 4.4, 8). Returns all problems at once. Pure. */
export function checkRegistration(file: unknown, context: RuleContext): CheckedRegistration {
  if (!isFields(file))
    return {
      problems: [{ path: '(the file)', problem: 'must be a mapping of fields' }],
    };
  const { [EXTRA]: extra, ...fields } = withoutBlanks(file, [...FIELD_NAMES, EXTRA]);
  const kind = fields['bizMode'] === 'B' || fields['bizMode'] === 'C' ? fields['bizMode'] : null;
  const parsed = (kind === null ? eitherSchema : KINDS[kind].schema).safeParse(fields);
  const further = extraSchema.safeParse({ extra });
  const ruled = RULES.flatMap((rule) => rule(fields, context));
  const isOverruled = ({ list }: RuleProblem) => list !== undefined && context.despite?.includes(list);
  const problems = [
    ...problemsOf(parsed.error?.issues ?? [], (names) => unknownFields(names, kind)),
    ...(kind === null ? unknownFields(Object.keys(fields), null) : []),
    ...ruled.filter((one) => one.isWarning !== true && !isOverruled(one)).map(withWayPast),
    ...problemsOf(further.error?.issues ?? [], () => []),
  ];
  if (problems.length > 0) return { problems: inOrder(problems) };
  for (const { path, problem } of [...ruled, ...extrasIn({ extra })]) context.onWarning?.({ path, problem });
  for (const { list, isWarning } of ruled)
    if (list !== undefined && isWarning !== true) context.onDespite?.(list);
  return {
    registration: { ...(parsed.data as Registration), ...further.data?.extra },
  };
}

/** A code that a stored list lacks may be right all the same. */
const withWayPast = ({ list, path, problem }: RuleProblem): Problem =>
  list === undefined
    ? { path, problem }
    : {
        path,
        problem: `${problem}; to send it all the same, give \`--despite ${list}\``,
      };

function unknownFields(names: readonly string[], kind: keyof typeof KINDS | null): Problem[] {
  return names.flatMap((name) => {
    if (!FIELD_NAMES.includes(name)) return [unknownField(name, FIELD_NAMES)];
    if (kind === null) return [];
    const other = KINDS[kind === 'B' ? 'C' : 'B'].noun;
    return [
      {
        path: name,
        problem: `belongs to ${other}, but bizMode ${kind} is ${KINDS[kind].noun}`,
      },
    ];
  });
}

/** Puts problems in the order in which the document lists the fields. */
function inOrder(problems: readonly Problem[]): Problem[] {
  const rank = ({ path }: Problem): number => {
    const found = FIELD_NAMES.indexOf(path.replace(/[.[].*$/, ''));
    return found === -1 ? FIELD_NAMES.length : found;
  };
  return problems.toSorted((a, b) => rank(a) - rank(b));
}

/** The file breaks rules of the document. The message lists all of them. Nothing was recorded or sent. */
class RegistrationInvalid extends FormInvalid {
  override readonly name = 'RegistrationInvalid';

  constructor(problems: readonly Problem[]) {
    super(
      `${counted(problems.length, 'problem', 'problems')} in the registration; nothing was recorded or sent:`,
      problems,
    );
  }
}

/** Throws `RegistrationInvalid` with all problems. */
export async function prepareRegistration(
  db: Kysely<DB>,
  file: unknown,
  rules: Omit<RuleContext, 'reference'>,
): Promise<Registration> {
  const reference = await storedReference(db, file, rules.zone);
  const checked = checkRegistration(file, { ...rules, reference });
  if ('problems' in checked) throw new RegistrationInvalid(checked.problems);
  return checked.registration;
}

/** The platform's lists for the bank's country, as last stored (docs/platform.md 4.2). */
async function storedReference(db: Kysely<DB>, file: unknown, zone = 'UTC'): Promise<StoredReference> {
  const country = isFields(file) ? file['countryCode'] : null;
  if (typeof country !== 'string' || !/^[A-Z]{2}$/.test(country)) return { payoutMethods: null, banks: null };
  const lists = await listReferenceLists(db);
  const listed = (kind: CheckedList, codes: readonly string[] | null): StoredList | null => {
    const list = lists.find((one) => one.kind === kind && one.country === country);
    if (codes === null || list === undefined) return null;
    return {
      codes,
      country,
      day: dayOf(list.readAt.getTime(), zone),
      setAside: list.setAside.length,
    };
  };
  const methodTypes = await payoutMethodTypes(db, country);
  return {
    payoutMethods: listed('payout_method', methodTypes === null ? null : [...methodTypes.keys()]),
    methodTypes,
    banks: listed('bank', await referenceCodes(db, { kind: 'bank', country })),
  };
}
