/** Makes what a run tells people with, from the settings. */
import { forgetDirectlySent, sendDirectOnceADay, recordLastSuccess } from '../../alerts/direct.ts';
import { targetsOf, ping } from '../../alerts/targets.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import type { RunAlerts } from './at-end.ts';

const PING_TRIES_MAX = 2;
const PING_MS_MAX = 4_000;

export type AlertingSettings = Pick<
  SettingsWithoutPlatform,
  'alerts' | 'allowInsecure' | 'dataDir' | 'databaseUrl'
>;

/** Whether anybody is notified of anything. */
export const isAlerting = ({ alerts }: Pick<AlertingSettings, 'alerts'>): boolean =>
  alerts.webhooks.length > 0 || alerts.mail !== null || alerts.pingUrl !== null;

/** Undefined where no alerts are set up. `onProblem` is called with what could not be reported. */
export function openRunAlerts(
  settings: AlertingSettings,
  { now, onProblem }: { readonly now: () => Date; readonly onProblem: (error: unknown) => void },
): RunAlerts | undefined {
  if (!isAlerting(settings)) return undefined;
  const targets = targetsOf(settings);
  const { pingUrl } = settings.alerts;
  return {
    targets: targets.map(({ key }) => key),
    onProblem,
    direct: async (content) => {
      const { dataDir } = settings;
      for (const { target, problem } of await sendDirectOnceADay(targets, content, { dataDir, now }))
        if (problem !== null) onProblem(new Error(`${target}: ${problem}`));
    },
    onSuccess: async () => {
      const { dataDir, databaseUrl } = settings;
      await forgetDirectlySent(dataDir).catch(onProblem);
      if (databaseUrl === null) await recordLastSuccess(dataDir, now()).catch(onProblem);
      if (pingUrl === null) return;
      for (let tries = 1; ; tries += 1) {
        const sent = await ping(pingUrl, { timeoutMs: PING_MS_MAX, now });
        if (sent.ok) return;
        if (tries < PING_TRIES_MAX) continue;
        onProblem(new Error(`DAYBOOK_PING_URL: ${sent.problem}`));
        return;
      }
    },
  };
}
