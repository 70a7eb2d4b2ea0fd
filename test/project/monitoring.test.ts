/**
 * The alerts and the dashboard in deploy are right by Prometheus's own tool, and ask only for metrics that there are.
 *
 * @module-tag long
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import { jobs } from '../../jobs/all.ts';
import { createMetrics, STATE_METRICS } from '../../src/plugins/observe/metrics.ts';
import { createState } from '../../src/plugins/observe/state.ts';
import { UNTRACED } from '../../src/host/trace.ts';
import { openStage, scenario } from '../support/stage.ts';

const RULES = 'deploy/prometheus/rules.yaml';
const DASHBOARD = 'deploy/grafana/daybook.json';
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}
const rules = (parse(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const dashboard = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as {
  panels: { title: string; targets: { expr: string }[] }[];
  templating: { list: { query: string | { query: string } }[] };
};
const queries = [
  ...dashboard.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
  ...dashboard.templating.list.flatMap(({ query }) =>
    typeof query === 'string' ? [] : [['a choice', query.query] as const],
  ),
];

/** Each metric with its labels. */
async function knownMetrics(): Promise<ReadonlyMap<string, readonly string[]>> {
  const { registry } = createMetrics();
  const work = (await registry.getMetricsAsJSON()).flatMap((metric) => {
    const { labelNames: labels } = registry.getSingleMetric(metric.name) as unknown as {
      labelNames: string[];
    };
    const names =
      String(metric.type) === 'histogram'
        ? ['_bucket', '_sum', '_count'].map((end) => metric.name + end)
        : [metric.name];
    return names.map((name) => [name, [...labels, ...(name.endsWith('_bucket') ? ['le'] : [])]] as const);
  });
  return new Map([...work, ...STATE_METRICS.map(({ name, labels = [] }) => [name, labels] as const)]);
}

/** What an expression asks for that there is not: names of metrics, and labels. */
function unknownIn(expr: string, known: ReadonlyMap<string, readonly string[]>): string[] {
  const bare = expr.replace(/\{[^}]*\}|\b(?:by|without|on) \([^)]*\)|"[^"]*"/g, ' ');
  const names = [...bare.matchAll(/\b((?:daybook|process|nodejs)_\w+)/g)].map(([, name]) => name!);
  const labelsOf = new Set([
    'job',
    'instance',
    'installation',
    ...names.flatMap((name) => known.get(name) ?? []),
  ]);
  const labels = [
    ...[...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, inside]) => [...inside!.matchAll(/(\w+)\s*[=!]/g)]),
    ...[...expr.matchAll(/\b(?:by|without|on) \(([^)]*)\)/g)].flatMap(([, inside]) => [
      ...inside!.matchAll(/(\w+)/g),
    ]),
  ].map(([, label]) => label!);
  return [...names.filter((name) => !known.has(name)), ...labels.filter((label) => !labelsOf.has(label))];
}

test('alerts and dashboard ask for metrics and labels that there are', async () => {
  const known = await knownMetrics();
  expect(rules.length).toBeGreaterThan(10);
  expect(queries.length).toBeGreaterThan(20);
  for (const [what, expr] of [...rules.map(({ alert, expr }) => [alert, expr] as const), ...queries]) {
    expect(unknownIn(expr, known), `${what}: ${expr}`).toEqual([]);
    expect(expr, what).toMatch(/(?:daybook|process|nodejs)_/);
  }
  expect(unknownIn('max(daybook_lost{day="1"}) by (merchant)', known)).not.toEqual([]);
});

test('each metric of the state or of work is in an alert or on the dashboard, or is one of each merchant', async () => {
  const asked = [...rules.map(({ expr }) => expr), ...queries.map(([, expr]) => expr)].join('\n');
  const unasked = [...(await knownMetrics()).keys()].filter(
    (name) => name.startsWith('daybook_') && !/_(?:bucket|sum|count)$/.test(name) && !asked.includes(name),
  );
  expect(unasked.filter((name) => !name.startsWith('daybook_merchant_'))).toEqual([
    'daybook_state_read_duration_seconds',
    'daybook_oldest_good_reading_timestamp_seconds',
    'daybook_last_run_state',
    'daybook_last_run_end_timestamp_seconds',
    'daybook_last_run_calls',
    'daybook_last_run_entries',
    'daybook_last_run_published',
    'daybook_next_run_timestamp_seconds',
    'daybook_backfills_open',
    'daybook_inbox_waiting_bytes',
  ]);
});

test('each alert has a sentence, what to do, how urgent it is, and a heading of the runbook', () => {
  const headings = [...readFileSync('docs/runbook.md', 'utf8').matchAll(/^#+ (.+)$/gm)].map(
    ([, text]) => text,
  );
  for (const { alert, labels, annotations } of rules) {
    expect(annotations['summary'], alert).toMatch(/\.$/);
    expect(annotations['description'], alert).toMatch(/\.$/);
    expect(['page', 'ticket'], alert).toContain(labels['severity']);
    const [, heading] = /^docs\/runbook\.md, (.+)$/.exec(annotations['runbook']!) ?? [];
    expect(headings, alert).toContain(heading);
  }
});

describe.skipIf(!hasPromtool)(
  'promtool (of Debian’s package prometheus; skipped where it is not installed)',
  () => {
    const promtool = (args: readonly string[], input?: string) => {
      const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' });
      return { status, said: stdout + stderr };
    };

    it('finds the rules right', () => {
      const { status, said } = promtool(['check', 'rules', RULES]);
      expect(status, said).toBe(0);
      expect(said).toContain(`${rules.length} rules found`);
    });

    it('makes each alert fire and not fire', { timeout: 300_000 }, () => {
      const { status, said } = promtool(['test', 'rules', 'deploy/prometheus/rules.test.yaml']);
      expect(status, said).toBe(0);
      const cases = parse(readFileSync('deploy/prometheus/rules.test.yaml', 'utf8')) as {
        tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
      };
      const tried = cases.tests.flatMap((one) => one.alert_rule_test);
      for (const { alert } of rules) {
        const fires = tried
          .filter(({ alertname }) => alertname === alert)
          .map((one) => one.exp_alerts.length);
        expect(fires, alert).toEqual(expect.arrayContaining([0, 1]));
      }
    });

    it('finds every query of the dashboard right', () => {
      const exprs = queries.map(([, expr]) => expr).filter((expr) => !expr.startsWith('label_values'));
      const own = exprs.map((expr, nth) => ({ record: `query:${nth}`, expr: expr.replaceAll('$job', '.*') }));
      const folder = mkdtempSync(join(tmpdir(), 'daybook-queries-'));
      const file = join(folder, 'queries.yaml');
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: own }] }));
      const { status, said } = promtool(['check', 'rules', file]);
      rmSync(folder, { recursive: true });
      expect(status, said).toBe(0);
      expect(said).toContain(`${exprs.length} rules found`);
    });

    it('finds nothing to mend in what /metrics tells of ours after a run', async () => {
      const metrics = createMetrics();
      const stage = await openStage({
        scenario: scenario({ entriesPerDay: 5 }),
        observer: { ...metrics.observer, trace: UNTRACED },
      });
      await stage.run();
      const { settings, database, now } = stage.app;
      const state = createState({ db: database.db, ledger: { settings, jobs }, now, withMerchants: true });
      const text = await metrics.text(await state());
      await stage.close();
      const { said } = promtool(['check', 'metrics'], text);
      expect(said.split('\n').filter((line) => /daybook|error/i.test(line))).toEqual([]);
    });
  },
);
