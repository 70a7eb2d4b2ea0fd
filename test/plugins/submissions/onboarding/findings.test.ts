import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findingsOf } from '../../../../src/plugins/submissions/findings.ts';

it.each([
  [
    '{"reason":"certificate is blurred","fields":["certificate","customerId"]}',
    {
      reasons: ['certificate is blurred'],
      fields: ['certificate', 'customerId'],
      processVersion: null,
      bizFlow: null,
    },
  ],
  [
    '{"processId":"V2","reMaterial":{"reason":"a; b","fieldNames":"certificate, director"}}',
    { reasons: ['a; b'], fields: ['certificate', 'director'], processVersion: 'V2', bizFlow: null },
  ],
  [
    '[{"field":"director","msg":"expired"},{"field":"director","msg":"not signed"},{"process_version":3}]',
    { reasons: ['expired', 'not signed'], fields: ['director'], processVersion: '3', bizFlow: null },
  ],
  ['"only a text"', { reasons: ['only a text'], fields: [], processVersion: null, bizFlow: null }],
  [
    '{"reason":"cut at 255 char',
    { reasons: ['cut at 255 char'], fields: [], processVersion: null, bizFlow: null },
  ],
  [
    '{"certificate":"is blurred","shareholder[0].certNo":{"reason":"unknown"}}',
    {
      reasons: ['certificate: is blurred', 'shareholder[0].certNo: unknown'],
      fields: ['certificate', 'shareholder[0].certNo'],
      processVersion: null,
      bizFlow: null,
    },
  ],
  [
    '{"message":"{\\"reason\\":\\"expired\\",\\"fields\\":[\\"director\\"]}"}',
    { reasons: ['expired'], fields: ['director'], processVersion: null, bizFlow: null },
  ],
  [
    '{"reason":"expired","fields":["certificate","direc',
    { reasons: ['expired'], fields: ['certificate', 'direc'], processVersion: null, bizFlow: null },
  ],
  [
    '{"reason":"expired","processVers',
    { reasons: ['expired'], fields: [], processVersion: null, bizFlow: null },
  ],
  ['not [JSON] at all', { reasons: ['not [JSON] at all'], fields: [], processVersion: null, bizFlow: null }],
  ['', { reasons: [], fields: [], processVersion: null, bizFlow: null }],
  [
    '{"bizFlow":"F\\t1","data":{"bizFlow":"F2"}}',
    { reasons: ['F2'], fields: [], processVersion: null, bizFlow: 'F\t1' },
  ],
  ['null', { reasons: [], fields: [], processVersion: null, bizFlow: null }],
  [
    '{"processVersion":"longer than ten"}',
    { reasons: ['longer than ten'], fields: [], processVersion: null, bizFlow: null },
  ],
])('%s', (message, findings) => {
  expect(findingsOf(message)).toEqual(findings);
});

it('no text is lost, whatever the structure', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 3 }), (message) => {
      const { reasons, fields, processVersion, bizFlow } = findingsOf(message);
      const kept = [...reasons, ...fields, processVersion ?? '', bizFlow ?? '']
        .join('')
        .replaceAll(/[\s,;|、，；]/g, '');
      const leaves: string[] = [];
      JSON.parse(message, (_, value: unknown) => {
        if (typeof value === 'string') leaves.push(value.trim().replaceAll(/[\s,;|、，；]/g, ''));
        return value;
      });
      for (const leaf of leaves) expect(kept).toContain(leaf);
    }),
  );
});
