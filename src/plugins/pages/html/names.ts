/** What merchants and accounts are called on the pages, and the page on which an operator gives them names and references. */
import type { Account } from '../../../ledger/entry.ts';
import {
  ACCOUNT_FIELDS,
  describedText,
  isMistypedIban,
  MERCHANT_FIELDS,
  type NameField,
  type Names,
  namesOfAccount,
  type OwnNames,
} from '../../../ledger/names.ts';
import { namesAddress } from './addresses.ts';
import { html, when, type Html, type Part } from './html.ts';
import { link } from './parts.ts';
import { page, saidPart, type Said, type View } from './view.ts';

/** `10001 Acme Ltd`, for titles and other texts without markup. */
export const merchantText = ({ names }: View, merchantNo: string): string =>
  [merchantNo, names.get(merchantNo)?.own.name ?? ''].join(' ').trimEnd();

/** The same as a part of a page: a name is written in its own direction, and does not turn what stands around it. */
export function merchantPart({ names }: View, merchantNo: string): Part {
  const name = names.get(merchantNo)?.own.name;
  return name === undefined ? merchantNo : html`${merchantNo} <bdi>${name}</bdi>`;
}

/** Number and currency, which lead to the address, and below them the names. */
export function accountPart({ names }: View, account: Account, address: string | null = null): Part {
  const number = `${account.merchantNo} ${account.currency}`;
  return [
    address === null ? number : link(address, number),
    below(namesOfAccount(names.get(account.merchantNo), account.currency)),
  ];
}

/** The number, which leads to the address, and below it the name. */
export const merchantLines = ({ names }: View, merchantNo: string, address: string): Part => [
  link(address, merchantNo),
  below(names.get(merchantNo)?.own.name ?? ''),
];

const below = (text: string): Part => when(text !== '', () => html` <bdi class="named">${text}</bdi>`);

/** The merchant's reference, and of an account its name and references; with the way to the page that has them all. */
export function namesLine({ names, texts, person }: View, merchantNo: string, currency: string | null): Part {
  const known = names.get(merchantNo);
  const { reference } = known?.own ?? {};
  const { name, ...own } = (currency === null ? undefined : known?.accounts.get(currency)) ?? {};
  const shown = [reference && describedText({ reference }), name, describedText(own)].filter(Boolean);
  return when(
    person?.role === 'operator' || known !== undefined,
    () =>
      html`<p class="soft">
        ${shown.map((text) => html`<bdi>${text}</bdi> · `)}${link(namesAddress(merchantNo), texts.names.title)}
      </p>`,
  );
}

/** The name of a field in the form: of the merchant itself, or of an account. */
export const inputName = (field: NameField, currency: string | null): string =>
  currency === null ? field : `${field}.${currency}`;

export interface NamesShown {
  readonly merchantNo: string;
  /** Its accounts, with those that only have names. */
  readonly currencies: readonly string[];
  /** What is in the form: what was typed, or what is stored. */
  readonly typed: Names;
  /** What was stored when the form was made; another change since then refuses it. */
  readonly seen: string;
  readonly said: Said | null;
}

export function namesPage(view: View, shown: NamesShown): string {
  const { texts, person, formToken } = view;
  const { merchantNo, currencies, typed, seen, said } = shown;
  const title = `${texts.names.title}: ${merchantText(view, merchantNo)}`;
  const isOperator = person?.role === 'operator';
  const known = typed.get(merchantNo);
  return page(view, {
    title,
    section: 'home',
    hasFigures: false,
    content: html`<p class="up">${link(`/?q=${encodeURIComponent(merchantNo)}`, texts.home.title)}</p>
      <h1>${texts.names.title}: ${merchantPart(view, merchantNo)}</h1>
      ${saidPart(view, said)}
      <p class="soft">${texts.names.about}</p>
      ${when(!isOperator, () => html`<p class="soft">${texts.names.viewer}</p>`)}
      <form class="names" method="post" action="${namesAddress(merchantNo)}">
        <input type="hidden" name="form_token" value="${formToken}" /><input
          type="hidden"
          name="seen"
          value="${seen}"
        />
        ${fieldset(view, [merchantNo, null], MERCHANT_FIELDS, known?.own)}
        ${currencies.map((currency) => fieldset(view, [merchantNo, currency], ACCOUNT_FIELDS, known?.accounts.get(currency)))}
        ${when(isOperator, () => html`<p><button class="main">${texts.names.submit}</button></p>`)}
      </form>`,
  });
}

function fieldset(
  { texts: { names }, person }: View,
  [merchantNo, currency]: readonly [string, string | null],
  fields: readonly NameField[],
  given: OwnNames = {},
): Html {
  const input = (field: NameField): Html => {
    const name = inputName(field, currency);
    const text = given[field] ?? '';
    // Whether an IBAN is free tells of merchants that this person may not see.
    const isFixed = field === 'iban' && person !== null && person.merchants !== null;
    return html`<p>
      <label for="${name}">${names[field]}</label
      ><input id="${name}" name="${name}" value="${text}" dir="auto" ${isFixed ? html`readonly` : null} />
      ${when(field === 'iban' && isMistypedIban(text), () => html`<strong>${names.mistyped}</strong>`)}
    </p>`;
  };
  return html`<fieldset ${person?.role === 'operator' ? null : html` disabled`}>
    <legend>${currency === null ? merchantNo : `${merchantNo} ${currency}`}</legend>
    ${fields.map(input)}
  </fieldset>`;
}
