/** The input common to all pages (texts, formats, reader), and the frame around the content. */
import type { LoginContent, Person } from '../access/access.ts';
import type { Names } from '../../../ledger/names.ts';
import { addressWith } from './addresses.ts';
import { cured, curedParagraph } from './cures.ts';
import { PAGE_LANGUAGE, type Format } from './format.ts';
import { html, when, type Html, type Part } from './html.ts';
import type { Texts } from './texts/en.ts';

export interface View {
  readonly texts: Texts;
  readonly format: Format;
  /** Null before login. */
  readonly person: Person | null;
  readonly zone: string;
  /** Of the merchants that the page shows. */
  readonly names: Names;
  /** The address of this page, with its query. */
  readonly address: string;
  /** Amounts are shown as they are stored. */
  readonly isExact: boolean;
  readonly stylesheet: string;
  readonly icon: string;
  readonly copyScript: string;
  /** Whether there is a way to log out. */
  readonly canLogOut: boolean;
  readonly formToken: string;
}

/** A page of the navigation. Its path is its name, but for the first one's, which is `/`. */
export type Section = keyof Texts['nav'];

/** A complete page. `section`: its item of the navigation. */
export function page(
  view: View,
  {
    title,
    section,
    content,
    hasFigures = true,
    refreshS = null,
    script = null,
  }: {
    readonly title: string;
    readonly section: Section | null;
    readonly content: Part;
    /** Whether there is a way to show its digits otherwise. */
    readonly hasFigures?: boolean;
    /** After how long it loads itself anew; null: not by itself. */
    readonly refreshS?: number | null;
    /** The address of the page's script; the page is complete without it. */
    readonly script?: string | null;
  },
): string {
  const { texts } = view;
  return String(
    html`<!doctype html>
      <html lang="${PAGE_LANGUAGE}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          ${when(refreshS !== null, () => html`<meta http-equiv="refresh" content="${refreshS}" />`)}
          <title>${title} · ${texts.name}</title>
          <link rel="stylesheet" href="${view.stylesheet}" />
          <link rel="icon" type="image/svg+xml" href="${view.icon}" />
          ${when(script !== null, () => html`<script src="${script}" defer></script>`)}
        </head>
        <body>
          <a class="skip" href="#content">${texts.skip}</a>
          <header>
            <a class="brand" href="/">${texts.name}</a>
            ${when(view.person !== null, () => navigation(view, section))}
          </header>
          <main id="content" tabindex="-1">${content}</main>
          ${when(hasFigures, () => foot(view))}
        </body>
      </html> `,
  );
}

const navigation = ({ texts, person, canLogOut, formToken }: View, section: Section | null): Html =>
  html`<nav aria-label="${texts.navigation}">
      <ul>
        ${Object.entries(texts.nav).map(([name, title], at) => html`<li><a href="/${at === 0 ? '' : name}" ${name === section ? html` aria-current="page"` : null}>${title}</a></li>`)}
      </ul>
    </nav>
    <p class="who">${texts.who(person!.name, texts.role[person!.role])}</p>
    ${when(canLogOut, () => html`<form class="logout" method="post" action="/logout"><input type="hidden" name="form_token" value="${formToken}" /><button>${texts.logout}</button></form>`)}`;

const foot = ({ texts, zone, address, isExact, person, canLogOut, formToken }: View): Part =>
  when(
    person !== null,
    () =>
      html`<footer>
        <p>
          ${texts.zone(zone)}
          <a href="${addressWith(address, { digits: isExact ? null : 'exact' })}"
            >${isExact ? texts.digitsLocal : texts.digitsExact}</a
          >
        </p>
        ${when(canLogOut, () => html`<form class="logout" method="post" action="/logout"><input type="hidden" name="form_token" value="${formToken}" /><button name="everywhere" value="yes">${texts.logoutEverywhere}</button></form>`)}
      </footer>`,
  );

export interface Said {
  readonly text: string;
  readonly isWrong: boolean;
}

export const saidPart = ({ texts }: View, said: Said | null): Part =>
  when(
    said !== null,
    () =>
      html`<p class="said${said!.isWrong ? ' wrong' : null}" role="${said!.isWrong ? 'alert' : 'status'}">
          ${cured(texts, said!.text).text}
        </p>
        ${cured(texts, said!.text).commands}`,
  );

export const messagePage = (view: View, title: string, text: string): string =>
  page(view, {
    title,
    section: null,
    // The address is untrusted input, so no link is built from it.
    hasFigures: false,
    content: html`<h1>${title}</h1>
      ${curedParagraph(view.texts, text)}
      <p><a href="/">${view.texts.error.home}</a></p>`,
  });

export function loginPage(
  view: View,
  { problem, password, isByLink, oidcAddress, endAddress }: LoginContent,
): string {
  const { login } = view.texts;
  return page(view, {
    title: login.title,
    section: null,
    content: html`<h1>${login.title}</h1>
      ${when(problem !== null, () => html`<p class="said wrong" role="alert">${login[problem!]}</p>`)}
      ${when(endAddress !== null, () => html`<p class="said" role="status">${login.ended} <a href="${endAddress}">${login.endAtProvider}</a></p>`)}
      ${when(isByLink, () => html`<p>${login.byLink}</p>`)}
      ${when(oidcAddress === null && password === null && !isByLink, () => html`<p>${login.noWay}</p>`)}
      ${when(oidcAddress !== null, () => html`<p><a class="button" href="${oidcAddress}">${login.oidc}</a></p>`)}
      ${when(password !== null, () => passwordForm(view, password!))}`,
  });
}

const passwordForm = (
  { texts: { login } }: View,
  { formToken, to }: NonNullable<LoginContent['password']>,
): Html =>
  html`<form class="login" method="post" action="/login">
    <input type="hidden" name="form_token" value="${formToken}" />
    <input type="hidden" name="to" value="${to}" />
    <label>${login.name} <input name="name" autocomplete="username" required /></label>
    <label
      >${login.password} <input name="password" type="password" autocomplete="current-password" required
    /></label>
    <button>${login.submit}</button>
  </form>`;
