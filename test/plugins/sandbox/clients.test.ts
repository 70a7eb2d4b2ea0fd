import { expect, test } from 'vitest';
import { createBeneficiaryClient } from '../../../src/plugins/submissions/registration-client.ts';
import { createApplicationClient } from '../../../src/plugins/submissions/application-client.ts';
import { createReferenceReader } from '../../../src/plugins/reference/client.ts';
import type { ScenarioInput } from '../../../src/plugins/sandbox/scenario.ts';
import { rejection, transportTo } from '../../platform/stranger.ts';
import type { MetaType } from '../../../src/platform/wire.ts';
import { TOKEN, application, enterprise, sandbox } from './support.ts';

const MERCHANT = { merchantNo: 'M1', token: TOKEN };
const clients = async (scenario: Partial<ScenarioInput> = {}) => {
  const { url, acted } = await sandbox(scenario);
  const { transport, retries } = transportTo(url);
  return {
    acted,
    retries,
    reference: createReferenceReader(transport),
    applications: createApplicationClient(transport),
    beneficiaries: createBeneficiaryClient(transport),
  };
};

test('daybook’s clients can read the sandbox’s lists, receipts and registrations', async () => {
  const { acted, reference, applications, beneficiaries } = await clients();
  const list = async (metaType: MetaType, countryCode: string) =>
    (await reference.list({ metaType, countryCode })).items;
  expect(await list('bank', 'HK')).toHaveLength(2);
  expect(await list('bank', 'AQ')).toEqual([]);
  expect(await list('payout_method', 'US')).toMatchObject([{ type: 'BANK' }]);
  const receipt = await applications.submit(application());
  expect(receipt).toMatchObject({ bizFlow: acted.applications()[0]!.bizFlow });
  const reply = await beneficiaries.register(MERCHANT, enterprise());
  expect(reply).toMatchObject({ merOrderNo: 'B-1', status: '01', respCode: 'S00000' });
  expect(acted.payees()).toMatchObject([{ payeeId: reply.payeeId }]);
});

test('an application whose reply is lost is submitted once, and its outcome is unknown', async () => {
  const { acted, applications } = await clients({ hostility: { lostRepliesEvery: 1 } });
  const error = await rejection(applications.submit(application()));
  expect(error).toMatchObject({ name: 'PlatformUnreachable', mayHaveArrived: true });
  expect(acted.applications()).toHaveLength(1);
});

test('a registration whose reply is lost is submitted again and gives one payee', async () => {
  const { acted, beneficiaries, retries } = await clients({
    hostility: { lostRepliesEvery: 1, strikesMax: 2 },
  });
  const reply = await beneficiaries.register(MERCHANT, enterprise());
  expect(retries).toHaveLength(2);
  expect(acted.payees().map(({ bizFlowNo }) => bizFlowNo)).toEqual([reply.bizFlowNo]);
});

test('a refusal names the field and repeats nothing of the application', async () => {
  const { acted, applications } = await clients();
  const error = await rejection(applications.submit(application({ certificate: ['Ada Made-Up.pdf'] })));
  expect(error).toMatchObject({ name: 'PlatformRejected', mayHaveArrived: false });
  expect(error.message).toContain('code E40000, naming certificate');
  expect(error.message).not.toContain('Ada');
  expect(acted.applications()).toEqual([]);
});
