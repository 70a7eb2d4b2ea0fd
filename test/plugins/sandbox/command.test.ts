/** The commands that the sandbox prints work against it. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addDays } from '../../../src/ledger/business-day.ts';
import { freshDatabase } from '../../support/database.ts';
import { daybook, startDaybook } from '../../cli/daybook.ts';
import { shortAndLong } from '../../support/short-and-long.ts';

for (const { options, cases } of shortAndLong([
  ['the machine’s clock', undefined],
  ['a clock of its own', '2026-04-01T01:30:00+08:00'],
] as const))
  it.each(cases)(
    'for a ledger that goes beyond today, by %s, the printed range ends yesterday and can be run',
    options,
    async (_, now) => {
      const today = (now === undefined ? new Date().toISOString() : now).slice(0, 10);
      const database = await freshDatabase();
      const folder = await mkdtemp(join(tmpdir(), 'daybook-sandbox-'));
      const scenario = {
        ...{ seed: 7, from: addDays(today, -3), to: addDays(today, 5), entriesPerDay: 3 },
        // Right after midnight the last day is not settled yet: then a zone with the same date at another hour.
        timeZone: new Date().getUTCHours() < 2 ? 'Asia/Shanghai' : 'UTC',
        merchants: [{ merchantNo: 'SBX-1', token: 'made-up', currencies: ['USD'] }],
        ...(now === undefined ? {} : { now }),
      };
      await writeFile(join(folder, 'scenario.yaml'), JSON.stringify(scenario));
      const { child, ended } = startDaybook(
        ['sandbox', '--port', '0', '--scenario', join(folder, 'scenario.yaml')],
        {},
      );
      try {
        let printed = '';
        for await (const part of child.stdout!) {
          printed += String(part);
          if (printed.includes('npx daybook')) break;
        }
        const exported = [...printed.matchAll(/([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name!, value!]);
        const [, command = ''] = /npx daybook (.*)/.exec(printed) ?? [];
        const run = await daybook(command.split(' '), {
          ...(Object.fromEntries(exported) as Record<string, string>),
          DATABASE_URL: database.url,
          DAYBOOK_DATA_DIR: join(folder, 'data'),
        });
        expect(run).toMatchObject({ code: 0 });
      } finally {
        child.kill('SIGTERM');
        await ended;
        await database.close();
        await rm(folder, { recursive: true, force: true });
      }
    },
  );

it('a port in use is a problem of the caller: exit 2, with another port to choose', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  const ended = await daybook(['sandbox', '--port', String(port)], {});
  taken.close();
  expect(ended).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`port ${port} on 127.0.0.1 is already in use. Stop the process`),
  });
});

it.each([
  ['10.001', 'USD', 'planted.0.net: 10.001 has more decimals than USD, which has 2'],
  ['1E-1', 'JPY', 'planted.0.net: 1E-1 has more decimals than JPY, which has 0'],
  ['ten', 'USD', 'planted.0.net: ten is not a number as JSON writes it'],
])('a scenario with the amount %s in %s ends with 2 and names the field', async (net, currency, problem) => {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-sandbox-'));
  const place = { merchant: 'SBX-1', currency, day: '2026-03-02', nth: 1 };
  const scenario = {
    ...{ seed: 7, timeZone: 'UTC', from: '2026-03-02', to: '2026-03-03', entriesPerDay: 3 },
    merchants: [{ merchantNo: 'SBX-1', token: 'made-up', currencies: [currency] }],
    planted: [{ what: 'amount', ...place, net }],
  };
  try {
    await writeFile(join(folder, 'scenario.yaml'), JSON.stringify(scenario));
    const ended = await daybook(['sandbox', '--port', '0', '--scenario', join(folder, 'scenario.yaml')], {});
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(problem) as unknown });
  } finally {
    await rm(folder, { recursive: true });
  }
});

it.each([
  ['list', (reply: string) => `{"code":"0","message":"ok","data":[${reply}]}`],
  ['text', (reply: string) => `{"code":"0","message":"ok","data":${JSON.stringify(reply)}}`],
  ['nested', (reply: string) => `{"head":{"code":"0","message":"ok"},"body":${reply}}`],
])('--hostility switches on the legal form envelope=%s', async (form, around) => {
  const forms = ['--hostility', `envelope=${form}`, '--hostility', 'moreFields=false'];
  const { child, ended } = startDaybook(['sandbox', '--port', '0', ...forms], {});
  try {
    let printed = '';
    for await (const part of child.stdout!) {
      printed += String(part);
      if (printed.includes('npx daybook')) break;
    }
    const [, url] = /PLATFORM_BASE_URL=(\S+)/.exec(printed)!;
    const body = '{"metaType":"occupation"}';
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${url}/api/sp2502`, { method: 'POST', headers, body });
    expect(await reply.text()).toBe(
      around('{"metaDataList":[{"code":"01","name":"Trader"},{"code":"02","name":"Engineer"}]}'),
    );
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
});

it('an unknown form or way is refused with 2 and its name', async () => {
  for (const wrong of ['envelope=box', 'moreFields=perhaps', 'orders=descending']) {
    const ended = await daybook(['sandbox', '--port', '0', '--hostility', wrong], {});
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(wrong.split('=')[0]!) });
  }
});
