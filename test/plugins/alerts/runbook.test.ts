/** Each alert names a heading of the runbook, and the promise to the outside names its kind and keys. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { documentOf } from '../../../src/plugins/alerts/alert.ts';
import { RUNBOOK_HEADINGS } from '../../../src/run/alerts.ts';

const runbook = readFileSync('docs/runbook.md', 'utf8');
const promise = readFileSync('docs/reference/README.md', 'utf8');

test.each(Object.entries(RUNBOOK_HEADINGS))('%s has an entry in the runbook', (_, heading) => {
  const [, entry = ''] = runbook.split(`\n### ${heading}\n`);
  expect(entry.split('\n#')[0]!.trim().length).toBeGreaterThan(40);
});

test('the runbook has no entry of an alert that does not exist', () => {
  const headings = [...runbook.matchAll(/^### (Alert: .*)$/gm)].map(([, heading]) => heading);
  expect(headings.sort()).toEqual(Object.values(RUNBOOK_HEADINGS).sort());
});

test('kinds and keys of the document are told', () => {
  const keys = Object.keys(
    documentOf(
      {
        ...{ id: '', kind: 'test', title: '', sentences: [], todo: '', merchants: [], merchantCount: 0 },
        ...{ days: [], since: null, runId: null, raisedAt: new Date(0) },
      },
      'one',
    ),
  );
  for (const name of [...Object.keys(RUNBOOK_HEADINGS), ...keys]) expect(promise).toContain(`\`${name}\``);
});
