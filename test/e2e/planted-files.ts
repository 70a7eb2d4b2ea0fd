/** An application and a registration with planted data in every free text. Each call makes new ones. */
import type { Canaries } from './canaries.ts';

let made = 0;

export function application({ word, digits, day }: Canaries) {
  const path = (name: string): string => `/upload/${word(name)}/${word(name)}.jpg`;
  const person = (role: string) => ({
    type: '0',
    issuPlace: 'CN',
    certName: word(`${role} certName`),
    certNo: word(`${role} certNo`),
    certificates: [path(`${role} front`), path(`${role} back`)],
    dateOfBirth: day(`${role} dateOfBirth`),
    certValidEndDate: '9999-12-31',
    currentCountry: 'CN',
    currentAddress: `${word(`${role} currentAddress`)} Road`,
  });
  return {
    email: `${word('email')}@mail.example`,
    phoneAreaCode: '+86',
    phoneNum: digits('phoneNum', 11),
    countryCode: 'CN',
    merNameEn: `${word('merNameEn')} Limited`,
    merNameCn: `测试${word('merNameCn')}有限公司`,
    payerCity: word('payerCity'),
    realCompanyAddress: word('realCompanyAddress'),
    addressType: '0',
    certificateNo: word('certificateNo'),
    certificate: [path('certificate')],
    companyWebsite: `https://${word('companyWebsite')}.example`,
    webSiteOrApp: `https://${word('webSiteOrApp')}.example`,
    clientCountry: ['US'],
    businessMainActors: '0',
    lastYearTurnover: '2',
    estimatedTradingVolume: '1',
    sourceFunds: ['01'],
    paymentPurpose: ['1001'],
    riskCountryTransaction: '0',
    customerIdentity: ['PASSPORT'],
    customerId: [person('customerId')],
    shareholder: [person('shareholder'), person('shareholder')],
    legalPerson: [person('legalPerson')],
    authorization: [path('authorization')],
    parentRemark: '0',
    branchRemark: '0',
    noticeMarker: '0',
    businessNature: { natureType: '2', natures: ['101'] },
  };
}

/** An individual paid by SWIFT, with all possible fields. */
export function payee({ word, digits, day, planted }: Canaries) {
  const path = (name: string): string => `/upload/${word(name)}/${word(name)}.jpg`;
  made += 1;
  return {
    merOrderNo: `PAYEE-${made}`,
    countryCode: 'DE',
    currency: 'EUR',
    paymentMode: 'SWIFT',
    payoutMethod: 'WIRE',
    bizMode: 'C',
    accountNo: word('accountNo'),
    bankName: word('bankName'),
    proxyBankName: word('proxyBankName'),
    proxyBankAddress: word('proxyBankAddress'),
    proxyBankSwiftCode: planted('proxyBankSwiftCode', 'QXJZDEQQXXX'),
    swiftCode: planted('swiftCode', 'ZQXJDEZZXXX'),
    emailNo: `${word('emailNo')}@mail.example`,
    phoneAreaCode: '+49',
    phoneNo: digits('phoneNo', 11),
    addressCountry: 'DE',
    addressProvince: word('addressProvince'),
    addressCity: word('addressCity'),
    addressLine: `${word('addressLine')} 7`,
    postCode: digits('postCode', 9),
    taxIdNumber: word('taxIdNumber'),
    relationProof: [path('relationProof')],
    idType: '01',
    idNumber: word('idNumber'),
    firstName: word('firstName'),
    lastName: word('lastName'),
    birthDate: day('birthDate'),
    placeOfBirth: 'DE',
    nationality: 'DE',
    gender: 'F',
    frontCertImg: path('frontCertImg'),
    backCertImg: path('backCertImg'),
  };
}
