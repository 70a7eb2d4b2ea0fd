/** The places that alerts go to, from the settings. */
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { Alert } from './alert.ts';
import { fingerprintOf } from './fingerprint.ts';
import { mailAlert } from './mail.ts';
import { postAlert, type Sending, type Sent } from './webhook.ts';

export interface Target {
  /**
   * By which the outbox knows it: the kind of a webhook and a fingerprint of its address, so that it stays the same target
   * when others come and go, and its address is stored nowhere. Mail is one target, whatever its password and addresses.
   */
  readonly key: string;
  /** For people: which setting it comes from. */
  readonly name: string;
  /** Tries once. */
  readonly send: (alert: Alert, sending: Sending) => Promise<Sent>;
}

const MAIL = 'mail';

const keyOf = (kind: string, address: string): string => `${kind} ${fingerprintOf(address)}`;

/** All targets, in the order of the settings; none where no alerts are set up. */
export function targetsOf({
  alerts: { webhooks, secret, mail },
  allowInsecure,
}: Pick<SettingsWithoutPlatform, 'alerts' | 'allowInsecure'>): Target[] {
  const hooks = webhooks.map((webhook, index): Target => ({
    key: keyOf(webhook.kind, webhook.url),
    name: `DAYBOOK_ALERT_URL ${index + 1} (${webhook.kind})`,
    send: (alert, sending) => postAlert(webhook, alert, { ...sending, secret }),
  }));
  const different = hooks.filter(({ key }, index) => hooks.findIndex((one) => one.key === key) === index);
  if (mail === null) return different;
  const mayBeOpen = allowInsecure.includes('alerts');
  return [
    ...different,
    {
      key: MAIL,
      name: 'DAYBOOK_ALERT_MAIL_TO',
      send: (alert, sending) => mailAlert(mail, alert, { ...sending, mayBeOpen }),
    },
  ];
}
