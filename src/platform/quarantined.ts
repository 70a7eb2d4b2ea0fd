/** Reads currency and amounts from the raw text of a quarantined entry, as far as possible, to explain breaks. */
import { canonicalAmount, isWithinDigits, subtractAmounts } from '../ledger/money.ts';
import type { QuarantinedReading } from '../ledger/chain/quarantined-entries.ts';
import { parseExactJson, type ExactJson } from './exact-json.ts';

const NOTHING: QuarantinedReading = { currency: null, nets: [] };

/**
 * The currency, and the signed amounts that the text may mean. If it has one amount: that one. If it has credit and
 * debit: their difference, or either of them. If its only amount is negative: also the same with the other sign.
 * Never throws.
 */
export function readQuarantined(raw: string): QuarantinedReading {
  const json = parsed(raw);
  if (json === null || typeof json.value !== 'object' || json.value === null) return NOTHING;
  const { currency, inAmount, outAmount } = json.value as Readonly<Record<string, unknown>>;
  const credit = amountOf(inAmount, json);
  const debit = amountOf(outAmount, json);
  return {
    currency: typeof currency === 'string' && /^[A-Z]{3}$/.test(currency) ? currency : null,
    nets: netsOf(credit, debit),
  };
}

function netsOf(credit: string | null, debit: string | null): string[] {
  if (credit !== null && debit !== null) {
    return [...new Set([subtractAmounts(credit, debit), credit, negated(debit)])].filter(
      (net) => !isZero(net),
    );
  }
  const net = credit ?? (debit === null ? null : negated(debit));
  if (net === null) return [];
  return (credit ?? debit)!.startsWith('-') ? [net, negated(net)] : [net];
}

const negated = (amount: string): string => subtractAmounts('0', amount);
const isZero = (amount: string): boolean => /^-?0(?:\.0*)?$/.test(amount);

function parsed(raw: string): ExactJson | null {
  try {
    return parseExactJson(raw);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The amount, if it is a number or a text that reads as one. */
function amountOf(value: unknown, { digitsOf }: ExactJson): string | null {
  if (typeof value !== 'string') return null;
  const canonical = canonicalAmount(digitsOf(value) ?? value, null);
  return canonical !== null && isWithinDigits(canonical.amount) ? canonical.amount : null;
}
