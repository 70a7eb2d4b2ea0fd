/** Abbreviations of time zones: people write them, machines know some of them for historic reasons, and most mean several places. */

/** What an abbreviation may mean, and the places whose zone has that clock. */
const MEANINGS: Readonly<Record<string, string>> = {
  ACST: 'Australia/Darwin Australia/Adelaide',
  ACT: 'Australia/Darwin America/Rio_Branco',
  ADT: 'America/Halifax Asia/Baghdad',
  AEDT: 'Australia/Sydney',
  AEST: 'Australia/Brisbane Australia/Sydney',
  AET: 'Australia/Sydney Australia/Brisbane',
  AGT: 'America/Argentina/Buenos_Aires',
  ART: 'America/Argentina/Buenos_Aires Africa/Cairo',
  AST: 'America/Halifax Asia/Riyadh America/Anchorage',
  AWST: 'Australia/Perth',
  BET: 'America/Sao_Paulo',
  BRT: 'America/Sao_Paulo',
  BST: 'Europe/London Asia/Dhaka',
  CAT: 'Africa/Maputo Africa/Harare',
  CDT: 'America/Chicago America/Havana',
  CEST: 'Europe/Berlin Europe/Paris',
  CET: 'Europe/Berlin Europe/Paris Africa/Algiers',
  CNT: 'America/St_Johns Asia/Shanghai',
  CST: 'America/Chicago Asia/Shanghai America/Havana',
  CTT: 'Asia/Shanghai',
  EAT: 'Africa/Nairobi',
  ECT: 'Europe/Paris America/Guayaquil',
  EDT: 'America/New_York',
  EEST: 'Europe/Helsinki Europe/Athens',
  EET: 'Europe/Helsinki Europe/Athens Africa/Cairo',
  EST: 'America/New_York America/Panama Australia/Sydney',
  GST: 'Asia/Dubai Atlantic/South_Georgia',
  HKT: 'Asia/Hong_Kong',
  HST: 'Pacific/Honolulu',
  ICT: 'Asia/Bangkok Asia/Ho_Chi_Minh',
  IET: 'America/Indiana/Indianapolis',
  IST: 'Asia/Kolkata Asia/Jerusalem Europe/Dublin',
  JST: 'Asia/Tokyo',
  KST: 'Asia/Seoul',
  MDT: 'America/Denver',
  MET: 'Europe/Berlin Asia/Yangon',
  MIT: 'Pacific/Apia Pacific/Marquesas',
  MSK: 'Europe/Moscow',
  MST: 'America/Denver America/Phoenix Asia/Kuala_Lumpur',
  NET: 'Asia/Yerevan',
  NST: 'America/St_Johns Pacific/Auckland',
  NZDT: 'Pacific/Auckland',
  NZST: 'Pacific/Auckland',
  PDT: 'America/Los_Angeles',
  PHT: 'Asia/Manila',
  PKT: 'Asia/Karachi',
  PLT: 'Asia/Karachi',
  PNT: 'America/Phoenix',
  PRT: 'America/Puerto_Rico',
  PST: 'America/Los_Angeles Asia/Manila',
  SAST: 'Africa/Johannesburg',
  SGT: 'Asia/Singapore',
  SST: 'Pacific/Guadalcanal Pacific/Pago_Pago Asia/Singapore',
  VST: 'Asia/Ho_Chi_Minh',
  WAT: 'Africa/Lagos',
  WET: 'Europe/Lisbon Atlantic/Canary',
  WIB: 'Asia/Jakarta',
};

/** The places that an abbreviation of a zone may mean; none where the name is no abbreviation. */
export const placesMeant = (name: string): readonly string[] =>
  MEANINGS[name.toUpperCase()]?.split(' ') ?? [];

/** `Asia/Shanghai`, `America/Chicago, Asia/Shanghai or America/Havana`. */
const orList = (names: readonly string[]): string =>
  names.length === 1 ? names[0]! : `${names.slice(0, -1).join(', ')} or ${names.at(-1)!}`;

/** What is wrong with a name that is no time zone, for the end of a sentence that begins with the setting's name. */
export function zoneProblem(name: string): string {
  const places = placesMeant(name);
  if (places.length === 0) return 'is no IANA time zone this machine knows';
  return `is an abbreviation, which may mean ${orList(places)}; name the place`;
}
