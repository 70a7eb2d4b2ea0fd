/** Puts the settings of alerts together, and says what does not go together. */
import { isLoopback } from '../host/loopback.ts';
import type { SettingsProblem } from './invalid.ts';
import { SETTING_PLACES, type SettingsDocument } from './schema.ts';
import type { AlertSettings } from './settings.ts';

type Section = SettingsDocument['daybook'];

const problem = (name: string, what: string): SettingsProblem => ({
  key: name,
  problem: what,
  example: SETTING_PLACES.find(({ environmentName }) => environmentName === name)!.example,
});

const isOpen = (address: string): boolean => {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !isLoopback(hostname);
};

const NOT_HTTPS =
  'must be https; plain http is for loopback only, or answer for it with DAYBOOK_ALLOW_INSECURE=alerts';

/** A webhook without a secret, mail without a server, and addresses that others could listen to. */
export function alertProblems(section: Section): SettingsProblem[] {
  const { alertUrl, alertSecret, alertMailTo, alertMailFrom, smtpUrl, pingUrl } = section;
  const problems: SettingsProblem[] = [];
  if (alertSecret === undefined && alertUrl.some(({ kind }) => kind === 'json')) {
    const what =
      'is required where DAYBOOK_ALERT_URL has a webhook that is not Slack’s: it signs what that gets';
    problems.push(problem('DAYBOOK_ALERT_SECRET', what));
  }
  if (alertMailTo.length > 0) {
    const needed = 'is required where DAYBOOK_ALERT_MAIL_TO is given';
    if (alertMailFrom === undefined) problems.push(problem('DAYBOOK_ALERT_MAIL_FROM', needed));
    if (smtpUrl === undefined) problems.push(problem('DAYBOOK_SMTP_URL', needed));
  }
  if (section.allowInsecure.includes('alerts')) return problems;
  if (alertUrl.some(({ url }) => isOpen(url))) problems.push(problem('DAYBOOK_ALERT_URL', NOT_HTTPS));
  if (pingUrl !== undefined && isOpen(pingUrl)) problems.push(problem('DAYBOOK_PING_URL', NOT_HTTPS));
  return problems;
}

export function alertSettingsOf(section: Section): AlertSettings {
  const { alertUrl, alertSecret, alertMailTo, alertMailFrom, smtpUrl, pingUrl } = section;
  const mail =
    alertMailTo.length === 0 || alertMailFrom === undefined || smtpUrl === undefined
      ? null
      : { to: alertMailTo, from: alertMailFrom, smtpUrl };
  return { webhooks: alertUrl, secret: alertSecret ?? null, mail, pingUrl: pingUrl ?? null };
}
