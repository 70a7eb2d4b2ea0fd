/** The page on which people log in, where the pages bring none of their own. No script, no style of its own. */
import type { LoginContent } from './create.ts';

/** Texts of access. A place with other words brings a page of its own. */
const LOGIN_TEXTS = {
  title: 'Log in',
  name: 'Name',
  password: 'Password',
  submit: 'Log in',
  oidc: 'Log in with your organisation’s account',
  refused: 'Name and password do not fit, or this name has no access.',
  tooMany: 'Too many attempts. Wait some minutes, then try again.',
  provider: 'The login did not succeed. Try again, or ask whoever runs this.',
} as const;

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escaped = (text: string): string => text.replace(/[&<>"]/g, (char) => ESCAPES[char]!);

export function plainLoginPage({ problem, password, oidcAddress }: LoginContent): string {
  const texts = LOGIN_TEXTS;
  const parts = [
    ...(problem === null ? [] : [`<p role="alert">${texts[problem]}</p>`]),
    ...(oidcAddress === null ? [] : [`<p><a href="${escaped(oidcAddress)}">${texts.oidc}</a></p>`]),
    ...(password === null ? [] : [passwordForm(password)]),
  ];
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${texts.title}</title></head>
<body><main><h1>${texts.title}</h1>
${parts.join('\n')}
</main></body>
</html>
`;
}

function passwordForm({ formToken, to }: NonNullable<LoginContent['password']>): string {
  const { name, password, submit } = LOGIN_TEXTS;
  return `<form method="post" action="/login">
<input type="hidden" name="form_token" value="${escaped(formToken)}"><input type="hidden" name="to" value="${escaped(to)}">
<p><label>${name} <input name="name" autocomplete="username" required></label></p>
<p><label>${password} <input name="password" type="password" autocomplete="current-password" required></label></p>
<p><button>${submit}</button></p>
</form>`;
}
