/** The setting of metrics. */
import { setting, settingsGroup } from '../../settings/setting.ts';
import { yesOrNo } from '../../settings/values/scalars.ts';

export const observeSettings = settingsGroup(
  {
    DAYBOOK_METRICS_MERCHANTS: setting(
      yesOrNo().default(false),
      "true: /metrics and 'daybook metrics' also report each merchant, with its number as a label. Otherwise no metric holds a merchant's number.",
      { example: 'true' },
    ),
  },
  { value: (own) => own },
);
