/** sp1101 as the document has it (docs/platform.md 2.3, 2.4, 4.3): what an application must be. */
import { z } from 'zod';
import { callbackUrl, countryCode, day, filled, isFilled, maybe, uploadedFile } from './field-checks.ts';

/** A person in an application: docs/platform.md 2.4. */
const person = z
  .strictObject({
    type: z.enum(['0', '1']),
    issuPlace: countryCode(),
    certName: filled(64),
    certNo: filled(32),
    certificates: z.array(uploadedFile()).min(1),
    dateOfBirth: day().optional(),
    certValidEndDate: day().optional(),
    currentCountry: countryCode(),
    currentAddress: filled(255),
  })
  .refine(({ type, certificates }) => type !== '0' || certificates.length === 2, {
    path: ['certificates'],
    error: 'must be the front and the back image of the ID card',
  });

const people = z.array(person).min(1);
const code = filled();
const yesOrNo = z.enum(['0', '1']);

/** An application: docs/platform.md 2.3, with the rule about paths in 4.3. */
export const applicationSchema = z
  .strictObject({
    merOrderNo: maybe(32),
    email: filled(255).regex(/^[^@\s]+@[^@\s]+$/, 'must be an e-mail address'),
    phoneAreaCode: filled(10),
    phoneNum: filled(32),
    referralChannel: filled(16),
    countryCode: countryCode(),
    merNameEn: filled(255),
    merNameCn: maybe(255),
    payerCity: filled(128),
    realCompanyAddress: filled(255),
    addressType: z.enum(['0', '1', '2']),
    certificateNo: filled(18),
    certificate: z.array(uploadedFile()).min(1),
    companyWebsite: maybe(255),
    webSiteOrApp: maybe(255),
    clientCountry: z.array(countryCode()).min(1),
    businessMainActors: z.enum(['0', '1']),
    lastYearTurnover: z.enum(['0', '1', '2', '3', '4', '5']),
    estimatedTradingVolume: z.enum(['0', '1', '2', '3', '4', '5']),
    sourceFunds: z.array(code).min(1),
    paymentPurpose: z.array(code).min(1),
    riskCountryTransaction: yesOrNo,
    customerIdentity: z.array(code).min(1),
    customerId: people,
    shareholder: people,
    director: people.optional(),
    legalPerson: people.optional(),
    authorization: z.array(uploadedFile()).min(1),
    parentRemark: yesOrNo,
    branchRemark: yesOrNo,
    noticeMarker: yesOrNo,
    callbackUrl: callbackUrl(),
    processVersion: maybe(10),
    businessNature: z.strictObject({ natureType: z.enum(['0', '1', '2']), natures: z.array(code).min(1) }),
  })
  .superRefine((application, context) => {
    const missing = (field: string, when: string): void =>
      context.addIssue({ code: 'custom', path: [field], message: `is required ${when}` });
    if (application.countryCode === 'CN') {
      if (!isFilled(application.merNameCn)) missing('merNameCn', 'when countryCode is CN');
      if (application.legalPerson === undefined) missing('legalPerson', 'when countryCode is CN');
    } else if (application.director === undefined) {
      missing('director', 'for merchants registered outside mainland China');
    }
    if (application.businessNature.natureType === '2' && !isFilled(application.webSiteOrApp)) {
      missing('webSiteOrApp', 'when businessNature.natureType is 2');
    }
  });
export type SentApplication = z.output<typeof applicationSchema>;
