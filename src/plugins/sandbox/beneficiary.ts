/** sp1401 as the document has it (docs/platform.md 2.5): what a registration must be, and which account it pays to. */
import { CURRENCY_CODE } from '../../ledger/money.ts';
import { z } from 'zod';
import type { MetaType } from '../../platform/wire.ts';
import {
  callbackUrl,
  countryCode,
  day,
  filled,
  image,
  isFilled,
  maybe,
  uploadedFile,
} from './field-checks.ts';
import type { Latitude } from './latitude.ts';

const common = {
  merOrderNo: filled(),
  countryCode: countryCode(),
  currency: z.string().regex(CURRENCY_CODE),
  paymentMode: z.enum(['LOCAL', 'SWIFT']),
  payoutType: z.enum(['WALLET', 'BANK', '']).optional(),
  payoutMethod: filled(),
  accountNo: filled(),
  bankCode: maybe(),
  bankName: maybe(),
  branchCode: maybe(),
  proxyBankName: maybe(),
  proxyBankAddress: maybe(),
  proxyBankSwiftCode: maybe(),
  swiftCode: maybe(),
  emailNo: maybe(),
  phoneAreaCode: maybe(),
  phoneNo: maybe(),
  addressCountry: filled(),
  addressProvince: filled(),
  addressCity: filled(),
  addressLine: filled(),
  postCode: maybe(),
  ifscCode: maybe(),
  cnaps: maybe(),
  taxIdNumber: maybe(),
  relationProof: z.array(uploadedFile()).max(3).optional(),
  callbackUrl: callbackUrl().optional(),
};

const enterprise = (images: Latitude['images']) =>
  z.strictObject({
    ...common,
    bizMode: z.literal('B'),
    registerCountry: filled(),
    companyName: filled(),
    localCompanyName: maybe(),
    businessLicenseImg: image(images).optional(),
    registerCertImg: image(images).optional(),
    incorporateCertImg: image(images).optional(),
  });

const individual = (images: Latitude['images']) =>
  z.strictObject({
    ...common,
    bizMode: z.literal('C'),
    addressLine: filled().regex(
      /^[\p{L}\p{M}\p{Nd}\s.,!?:;'"()[\]{}/*\\-]+$/u,
      'has a character that is not allowed for individuals',
    ),
    idType: z.enum(['01', '02']),
    idNumber: filled(),
    firstName: filled(),
    lastName: filled(),
    birthDate: day(),
    placeOfBirth: filled(),
    nationality: filled(),
    gender: z.enum(['M', 'F', 'X']),
    frontCertImg: image(images).optional(),
    backCertImg: image(images).optional(),
  });

const PROXY_BANK = ['proxyBankName', 'proxyBankAddress', 'proxyBankSwiftCode'] as const;
const WITH_BRANCH = ['CN', 'BR', 'IN'];
const WITH_AREA_CODE = ['BR', 'KR', 'MA', 'IN'];

/** The codes in a list of the scenario; undefined if it has no such list for the country. */
export type Catalog = (kind: MetaType, country: string) => readonly string[] | undefined;

export interface RegistrationRules {
  /** The two methods that need no bankCode (rule 1). */
  readonly walletMethods: readonly string[];
  readonly catalog: Catalog;
  readonly images: Latitude['images'];
}

/**
 * docs/platform.md 2.5 with its rules 1 to 3. The document's bankCountry is taken to be countryCode, and its
 * settlementNetwork to be paymentMode.
 */
export const registrationSchema = ({ walletMethods, catalog, images }: RegistrationRules) =>
  z.discriminatedUnion('bizMode', [enterprise(images), individual(images)]).superRefine((payee, context) => {
    const wrong = (field: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [field], message });
    const isListed = (kind: MetaType, code: string): boolean =>
      catalog(kind, payee.countryCode)?.includes(code) ?? true;
    const needsBranch = WITH_BRANCH.includes(payee.countryCode);

    if (payee.paymentMode === 'LOCAL') {
      const needsBank = needsBranch || !walletMethods.includes(payee.payoutMethod);
      if (needsBank && !isFilled(payee.bankCode)) wrong('bankCode', 'is required');
      if (!isListed('payout_method', payee.payoutMethod)) wrong('payoutMethod', 'is not in the catalog');
    } else {
      if (payee.payoutMethod !== 'WIRE') wrong('payoutMethod', 'must be WIRE when paymentMode is SWIFT');
      if (!isFilled(payee.swiftCode)) wrong('swiftCode', 'is required when paymentMode is SWIFT');
    }
    if (isFilled(payee.bankCode)) {
      if (needsBranch && !isFilled(payee.branchCode)) wrong('branchCode', 'is required with bankCode');
      if (!isListed('bank', payee.bankCode)) wrong('bankCode', 'is no bank of the country');
    }
    const proxies = PROXY_BANK.filter((field) => isFilled(payee[field]));
    if (proxies.length > 0 && payee.paymentMode !== 'SWIFT') wrong(proxies[0]!, 'is for SWIFT only');
    if (proxies.length % PROXY_BANK.length !== 0) {
      wrong(
        PROXY_BANK.find((field) => !proxies.includes(field))!,
        'is required with the other proxy bank fields',
      );
    }
    if (WITH_AREA_CODE.includes(payee.countryCode) && !isFilled(payee.phoneAreaCode)) {
      wrong('phoneAreaCode', `is required when the bank is in ${payee.countryCode}`);
    }
    if (payee.bizMode === 'C' && payee.idType === '01' && payee.backCertImg === undefined) {
      wrong('backCertImg', 'is required when idType is 01');
    }
  });
export type SentRegistration = z.output<ReturnType<typeof registrationSchema>>;

/** The account that is paid to. Registrations with the same account are of the same payee. */
export const accountOf = (merchantNo: string, payee: SentRegistration): string =>
  JSON.stringify([merchantNo, payee.countryCode, payee.bankCode ?? payee.swiftCode ?? '', payee.accountNo]);
