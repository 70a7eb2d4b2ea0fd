/** What an alert is, and what people read of it. Pure. */

/** What an alert is about, and the heading in docs/runbook.md that says what to do. */
export const RUNBOOK_HEADINGS = {
  'failed-night': 'Alert: a night failed',
  recovered: 'Alert: recovered',
  'missed-night': 'Alert: a night was missed',
  'new-break': 'Alert: a new break',
  amendment: 'Alert: published days were revised',
  'revised-download': 'Alert: a downloaded day was revised',
  'not-serving': 'Alert: results are not taken in',
  'inbox-attack': 'Alert: unknown senders post to the inbox',
  'key-problem': 'Alert: a key or token does not work',
  test: 'Alert: a test',
} as const;

export type AlertKind = keyof typeof RUNBOOK_HEADINGS;

/** An alert without its number. It holds no token and no personal data. */
export interface AlertContent {
  readonly kind: AlertKind;
  /** One line: what happened, and to how many. */
  readonly title: string;
  /** What happened, one sentence each; the first few where there are very many. */
  readonly sentences: readonly string[];
  readonly todo: string;
  /** The first few merchants it is about. */
  readonly merchants: readonly string[];
  readonly merchantCount: number;
  /** The first few business days it is about. */
  readonly days: readonly string[];
  /** When the trouble began; null if it is about one moment. */
  readonly since: Date | null;
  readonly runId: number | null;
}

export interface Alert extends AlertContent {
  /** The same for each try and each receiver. */
  readonly id: string;
  readonly raisedAt: Date;
}

/** The document that a webhook gets. Its keys are promised in docs/reference. */
export const documentOf = (alert: Alert) => ({
  version: 1,
  id: alert.id,
  kind: alert.kind,
  title: alert.title,
  text: alert.sentences.join('\n'),
  todo: alert.todo,
  merchants: alert.merchants,
  merchantCount: alert.merchantCount,
  days: alert.days,
  since: alert.since?.toISOString() ?? null,
  raisedAt: alert.raisedAt.toISOString(),
  runId: alert.runId,
  runbook: RUNBOOK_HEADINGS[alert.kind],
});

/** The complete message as lines of text, as in mail. */
export const linesOf = (alert: Alert): string[] => [
  ...alert.sentences,
  '',
  `What to do: ${alert.todo}`,
  `Runbook: "${RUNBOOK_HEADINGS[alert.kind]}" in docs/runbook.md`,
  ...(alert.since === null ? [] : [`Since: ${alert.since.toISOString()}`]),
  ...(alert.runId === null ? [] : [`Run: ${alert.runId} (daybook runs ${alert.runId})`]),
  `Alert: ${alert.id}, raised ${alert.raisedAt.toISOString()}`,
];
