/** The page on which people log in. */
import type { LoginContent } from '../access/access.ts';
import { html, when, type Html } from './html.ts';
import { page, type View } from './view.ts';

export function loginPage(view: View, { problem, password, oidcAddress, endAddress }: LoginContent): string {
  const { login } = view.texts;
  return page(view, {
    title: login.title,
    section: null,
    content: html`<h1>${login.title}</h1>
      ${when(problem !== null, () => html`<p class="said wrong" role="alert">${login[problem!]}</p>`)}
      ${when(endAddress !== null, () => html`<p class="said" role="status">${login.ended} <a href="${endAddress}">${login.endAtProvider}</a></p>`)}
      ${when(oidcAddress === null && password === null, () => html`<p>${login.noWay}</p>`)}
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
