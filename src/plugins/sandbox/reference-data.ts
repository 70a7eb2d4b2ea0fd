/** sp2502 as the document has it (docs/platform.md 2.2, 4.2): five lists from the scenario. */
import { z } from 'zod';
import type { MetaType } from '../../platform/wire.ts';
import { Refused } from './field-checks.ts';
import type { Latitude } from './latitude.ts';

const item = z.strictObject({ code: z.string().min(1), name: z.string().min(1) });
const method = z.strictObject({ ...item.shape, type: z.enum(['WALLET', 'BANK']) });
const country = z.string().regex(/^[A-Z]{2}$/);

/** Made up, except for the two codes that the document names. */
const DEFAULTS = {
  bank: {
    CN: [
      { code: 'CN0101', name: 'First Bank of the Sandbox' },
      { code: 'CN0102', name: 'Harbour Bank of the Sandbox' },
    ],
    HK: [
      { code: 'HK004', name: 'Peak Bank of the Sandbox' },
      { code: 'HK012', name: 'Ferry Bank of the Sandbox' },
    ],
    US: [{ code: 'US021', name: 'Prairie Bank of the Sandbox' }],
  },
  occupation: [
    { code: '01', name: 'Trader' },
    { code: '02', name: 'Engineer' },
  ],
  business_nature: [
    { code: '101', name: 'Toys' },
    { code: '102', name: 'Textiles' },
    { code: 'OTHER', name: 'Please enter the metadata name' },
  ],
  purpose: [
    { code: '1001', name: 'Goods trade' },
    { code: '1002', name: 'Services' },
  ],
  payout_method: {
    CN: [
      { code: 'CN_LOCAL', name: 'Local transfer', type: 'BANK' as const },
      { code: 'SBX_WALLET_1', name: 'First wallet', type: 'WALLET' as const },
    ],
    HK: [
      { code: 'HK_FPS', name: 'Faster payments', type: 'BANK' as const },
      { code: 'SBX_WALLET_1', name: 'First wallet', type: 'WALLET' as const },
      { code: 'SBX_WALLET_2', name: 'Second wallet', type: 'WALLET' as const },
    ],
    US: [{ code: 'US_ACH', name: 'Clearing house', type: 'BANK' as const }],
  },
};

/** The lists of a scenario. Of a country that is left out, nothing is found. */
export const referenceSchema = z.strictObject({
  bank: z.record(country, z.array(item)).default(DEFAULTS.bank),
  occupation: z.array(item).default(DEFAULTS.occupation),
  business_nature: z.array(item).default(DEFAULTS.business_nature),
  purpose: z.array(item).default(DEFAULTS.purpose),
  payout_method: z.record(country, z.array(method)).default(DEFAULTS.payout_method),
});
export type ReferenceLists = z.output<typeof referenceSchema>;
export const REFERENCE_DEFAULTS: ReferenceLists = referenceSchema.parse({});

/** docs/platform.md 4.2: a request names a country if its list is by country, and only then. */
export const referenceRequestSchema = z.discriminatedUnion('metaType', [
  z.strictObject({ metaType: z.enum(['bank', 'payout_method']), countryCode: country }),
  z.strictObject({ metaType: z.enum(['occupation', 'business_nature', 'purpose']) }),
]);
export type ReferenceRequest = z.output<typeof referenceRequestSchema>;

export interface SentItem {
  readonly code: string;
  readonly name: string;
  readonly type?: string;
}

/** The items of a list; none if the scenario has no such list. Throws `Refused` if the country is missing. */
export function itemsOf(lists: ReferenceLists, kind: MetaType, countryCode?: string): readonly SentItem[] {
  const list = lists[kind];
  if (Array.isArray(list)) return list;
  if (countryCode === undefined) throw new Refused(400, 'E40000', 'countryCode: is required');
  return list[countryCode] ?? [];
}

interface Spelling extends Pick<Latitude, 'catalogue' | 'nothingFound'> {
  readonly unreadableItems: number;
}

/** The reply (docs/platform.md 2.2). */
export function referenceReply(lists: ReferenceLists, request: ReferenceRequest, spelling: Spelling): object {
  const listed = itemsOf(lists, request.metaType, 'countryCode' in request ? request.countryCode : undefined);
  const readable = listed.length - spelling.unreadableItems;
  const items = listed.map((item, index) => (index < readable ? item : { ...item, code: ' ' }));
  return { metaDataList: items.length === 0 ? NOTHING[spelling.nothingFound] : spelt(items, spelling) };
}

const NOTHING = { item: [{ code: 'ALL0000001', name: 'ALL' }], array: [], null: null };

function spelt(items: readonly SentItem[], { catalogue }: Spelling): unknown {
  if (catalogue === 'array') return items;
  if (catalogue === 'text') return JSON.stringify(items);
  return Object.fromEntries(items.map((item) => [item.code, catalogue === 'map' ? item.name : item]));
}
