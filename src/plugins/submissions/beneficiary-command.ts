/**
 * `beneficiary`: check, register and status; and resend, release and settle, for registrations without a clear
 * answer.
 */
import { Option, type Command } from 'commander';
import { createBeneficiaryClient } from './registration-client.ts';
import { prepareRegistration } from './registration-check.ts';
import { CHECKED_LISTS, type CheckedList } from './registration-rules.ts';
import {
  registerBeneficiary,
  type RegisterDeps,
  type Registered,
  resendBeneficiary,
  settleBeneficiary,
  settleOrRelease,
} from './register.ts';
import type { Problem } from '../../forms/problem.ts';
import { thisHolder } from '../../host/process-identity.ts';
import { BENEFICIARY_ACCEPTED } from '../../platform/wire.ts';
import { EXIT, UsageError, type ExitCode } from '../../run/verdict/exit-codes.ts';
import type { PlatformApp } from '../../run/app.ts';
import { oneMerchant } from '../../run/chosen-merchants.ts';
import { listBeneficiaries, type BeneficiaryRow, releaseBeneficiary } from './registrations.ts';
import {
  answer,
  answerWith,
  auditEventOf,
  offlineSettings,
  platformSettings,
  print,
  stopSignal,
  withBy,
  withPlatform,
  type CommandOutput,
} from '../../cli/context.ts';
import { idFlag, referenceFlag, textFlag } from '../../cli/flags.ts';
import { readInputFile, rulesOf, warningText } from '../../cli/input-file.ts';
import { line, lines, listTable, type Times } from '../../cli/output/text.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import { notAppliedOf, notAppliedText, type NotificationRow } from './notifications.ts';
import { submissionSettings, todayOf, zoneOf } from './settings.ts';

export function beneficiaryCommand(beneficiary: Command): void {
  addCheck(beneficiary);
  addRegister(beneficiary);
  addStatus(beneficiary);
  addResend(beneficiary);
  addRelease(beneficiary);
  addSettle(beneficiary);
}

function addCheck(beneficiary: Command): void {
  beneficiary
    .command('check')
    .argument('<file>', 'the registration, JSON or YAML')
    .addOption(despiteOption())
    .description('check a registration in full, and send nothing')
    .action((path: string, { despite }: DespiteFlag, self: Command) => {
      const settings = offlineSettings(self);
      const file = readInputFile(path);
      return answerWith(settings, self, async ({ db, now }) => {
        const warnings: Problem[] = [];
        await prepareRegistration(db, file, { ...registrationRules(settings, now(), warnings), despite });
        return {
          document: { problems: [], warnings },
          text: lines('nothing to correct; it can be registered', ...warnings.map(warningText)),
        };
      });
    });
}

function addRegister(beneficiary: Command): void {
  withBy(beneficiary.command('register'))
    .argument('<file>', 'the registration, JSON or YAML: the fields of sp1401')
    .option('--merchant <no>', 'for this merchant; may be left out where there is one alone')
    .addOption(despiteOption())
    .description(
      'check a registration in full, record it, and send it; the same file again never registers twice',
    )
    .addHelpText(
      'after',
      '\nmerOrderNo in the file decides what is the same registration. Fields that the platform’s document does not name go ' +
        '\nunder `extra`. A reply that leaves open how it stands ends with 3. Needs DAYBOOK_SECRET_KEYS; the result comes to ' +
        '\n`daybook serve` where DAYBOOK_PUBLIC_URL is set.\n\nconfig/beneficiary.example.yaml is an example of the file. Needs PLATFORM_BASE_URL, PLATFORM_TIME_ZONE and a merchant with ' +
        '\na token. daybook does not upload files and does not call sp2402, as the platform’s document does not describe them: the file ' +
        '\nnames paths that the platform’s upload returned.\n\nExample:\n  daybook beneficiary register supplier.yaml',
    )
    .action(async (path: string, { merchant: asked, despite }: RegisterFlags, self: Command) => {
      const settings = platformSettings(self);
      const file = readInputFile(path);
      await withPlatform(settings, async (app) => {
        const merchant = await oneMerchant(app, asked);
        const warnings: Problem[] = [];
        const overruled: string[] = [];
        const registration = await prepareRegistration(app.database.db, file, {
          ...registrationRules(settings, app.now(), warnings),
          despite,
          onDespite: (list) => overruled.push(list),
        });
        const overruling =
          overruled.length === 0 ? null : auditEventOf(self, '', `despite the list ${overruled.join(', ')}`);
        const deps = { ...registerDeps(app, stopSignal()), overruling };
        tellRegistered(self, await registerBeneficiary(deps, merchant, registration), warnings);
      });
    });
}

interface DespiteFlag {
  readonly despite: readonly CheckedList[];
}

interface RegisterFlags extends DespiteFlag {
  readonly merchant?: string;
}

const despiteOption = () =>
  new Option(
    '--despite <list>',
    `send a code that the stored list does not have: ${CHECKED_LISTS.join(' or ')} (may be repeated)`,
  )
    .argParser((text: string, earlier: readonly CheckedList[]) => [...earlier, checkedListOf(text)])
    .default([], 'none');

/** Throws `UsageError`. */
function checkedListOf(text: string): CheckedList {
  const list = CHECKED_LISTS.find((one) => one === text.replaceAll('-', '_'));
  if (list === undefined)
    throw new UsageError(
      `--despite ${text} is no list that files are checked by: ${CHECKED_LISTS.join(', ')}.`,
    );
  return list;
}

function addStatus(beneficiary: Command): void {
  beneficiary
    .command('status')
    .argument('[id]', 'the registration’s number; all where left out')
    .description('how registrations stand')
    .action((id: string | undefined, _flags: object, self: Command) =>
      answer(self, async ({ db, times }) => {
        const notApplied = await notAppliedOf(db, 'beneficiary');
        const pushedFor = (row: BeneficiaryRow) =>
          notApplied.filter(({ merOrderNo }) => merOrderNo === row.merOrderNo);
        if (id !== undefined) {
          const row = await registrationOf(db, id);
          return outputOf(row, pushedFor(row));
        }
        const rows = await listBeneficiaries(db);
        const isOpen = rows.some(isOpenQuestion) || notApplied.length > 0;
        return {
          document: rows.map((row) => ({ ...documentOf(row), notApplied: pushedFor(row) })),
          text: lines(listText(rows, times), ...notApplied.map(notAppliedOne)),
          exitCode: isOpen ? EXIT.needsPerson : EXIT.done,
        };
      }),
    );
}

/** How a registration stands, as an answer to who asks. */
const outputOf = (row: BeneficiaryRow, notApplied: readonly NotificationRow[] = []): CommandOutput => ({
  document: { ...documentOf(row), notApplied },
  text: lines(rowText(row), ...notApplied.map((one) => line`  ${notAppliedText(one)}`)),
  exitCode: isOpenQuestion(row) || notApplied.length > 0 ? EXIT.needsPerson : EXIT.done,
});

const notAppliedOne = (one: NotificationRow): string =>
  line`registration ${one.merOrderNo ?? ''}: ${notAppliedText(one)}`;

function addResend(beneficiary: Command): void {
  beneficiary
    .command('resend')
    .argument('<id>', 'the registration’s number')
    .description(
      'send again, as it was recorded, a registration that got no reply; for when its file is no longer at hand',
    )
    .action(async (id: string, _flags: object, self: Command) => {
      await withPlatform(platformSettings(self), async (app) => {
        const row = await registrationOf(app.database.db, id);
        const merchant = await oneMerchant(app, row.merchantNo);
        tellRegistered(self, await resendBeneficiary(registerDeps(app, stopSignal()), merchant, row));
      });
    });
}

function addRelease(beneficiary: Command): void {
  withBy(beneficiary.command('release'))
    .argument('<id>', 'the registration’s number')
    .requiredOption('--note <text>', 'how it is known that the platform never took it; kept with it')
    .description('release a registration without a reply, so that its payee can be registered again')
    .action((id: string, flags: { readonly note: string }, self: Command) => {
      const note = textFlag(flags.note, 'say how it is known');
      return answer(self, async ({ db, recorded }) => {
        const { id: number } = await registrationOf(db, id);
        await recorded({ subject: number, note }, async (trx) => {
          if (await releaseBeneficiary(trx, number, `released by a person: ${note}`)) return;
          throw new UsageError(
            `registration ${id} cannot be released: it has a clear answer of the platform, or is being sent just now.`,
          );
        });
        return { ...outputOf(await registrationOf(db, id)), exitCode: EXIT.done };
      });
    });
}

function addSettle(beneficiary: Command): void {
  withBy(beneficiary.command('settle'))
    .argument('<id>', 'the registration’s number')
    .addOption(
      new Option(
        '--status <status>',
        'what the platform says it is: 01 under review, 03 rejected, 04 approved',
      )
        .choices(['01', '03', '04'])
        .makeOptionMandatory(),
    )
    .option('--payee-id <id>', 'the payeeId the platform has it under')
    .option('--biz-flow <flow>', 'the bizFlowNo the platform has it under')
    .option('--note <text>', 'how it is known; kept with it')
    .description(
      'record how a registration stands that has no result or no clear answer, after asking the platform',
    )
    .addHelpText('after', '\nExample:\n  daybook beneficiary settle 3 --status 04 --payee-id P20260301')
    .action((id: string, flags: SettleFlags, self: Command) => {
      const { status } = flags;
      const payeeId = flags.payeeId === undefined ? null : referenceFlag('--payee-id', flags.payeeId);
      const bizFlowNo = flags.bizFlow === undefined ? null : referenceFlag('--biz-flow', flags.bizFlow);
      if (status === '03' && payeeId !== null)
        throw new UsageError('a rejected registration has no payee to pay; leave out --payee-id.');
      const note = textFlag(flags.note, 'say how it is known') ?? null;
      return answer(self, async ({ db, recorded }) => {
        const { id: number } = await registrationOf(db, id);
        const auditNote = `status ${status}${note === null ? '' : `: ${note}`}`;
        const settled = await recorded({ subject: number, note: auditNote }, (trx, now) =>
          settleBeneficiary(trx, { id: number, status, payeeId, bizFlowNo, note, now }),
        );
        return outputOf(settled);
      });
    });
}

interface SettleFlags {
  readonly status: '01' | '03' | '04';
  readonly payeeId?: string;
  readonly bizFlow?: string;
  readonly note?: string;
}

/** What a registration is checked by. */
export const registrationRules = (settings: SettingsWithoutPlatform, now: Date, warnings?: Problem[]) => {
  const { fileRules, walletMethods, images } = submissionSettings.of(settings);
  return {
    ...rulesOf(fileRules.filePaths, todayOf(settings, now), warnings),
    walletMethods,
    images,
    zone: zoneOf(settings),
  };
};

export const registerDeps = (
  { database: { db }, transport, settings, now }: PlatformApp,
  signal: AbortSignal,
): RegisterDeps => ({
  client: createBeneficiaryClient(transport),
  ...{ db, now, signal, secretKeys: settings.secretKeys, publicUrl: settings.publicUrl },
  holder: thisHolder(),
});

async function registrationOf(db: RegisterDeps['db'], text: string): Promise<BeneficiaryRow> {
  const unknown = `${text} is no registration’s number; \`daybook beneficiary status\` lists them.`;
  const [row] = await listBeneficiaries(db, idFlag(text, unknown));
  if (row === undefined) throw new UsageError(unknown);
  return row;
}

function tellRegistered(
  self: Command,
  { beneficiary, sent, approvedBefore }: Registered,
  warnings: readonly Problem[] = [],
): void {
  print(self, {
    document: { ...documentOf(beneficiary), sent, approvedBefore: approvedBefore.map(documentOf), warnings },
    text: lines(
      !sent && 'nothing was sent: this number was registered before',
      rowText(beneficiary),
      ...warnings.map(warningText),
      ...approvedBefore.map(
        ({ id, payeeId }) =>
          line`the same account is approved already: payeeId ${payeeId ?? 'unknown'} (registration ${id})`,
      ),
    ),
    exitCode: exitCodeFor(beneficiary),
  });
}

/** Approved, but without the payeeId that payments need (docs/platform.md 2.6). */
const isWithoutPayee = ({ status, payeeId }: BeneficiaryRow): boolean => status === '04' && payeeId === null;

/** A person has to ask the platform. */
const isOpenQuestion = (row: BeneficiaryRow): boolean => row.needsPerson || isWithoutPayee(row);

const exitCodeFor = (row: BeneficiaryRow): ExitCode =>
  row.status === '03' || row.status === 'refused' || isOpenQuestion(row) ? EXIT.needsPerson : EXIT.done;

/** What each status means (docs/platform.md 3.1). The first two come before those of the platform. */
const MEANING: Readonly<Record<BeneficiaryRow['status'], string>> = {
  sending: 'sent or about to be, no reply yet',
  refused: 'not taken by the platform',
  '01': 'under review',
  '03': 'rejected',
  '04': 'approved',
};

const documentOf = (row: BeneficiaryRow) => ({ ...row, meaning: MEANING[row.status] });

function rowText(row: BeneficiaryRow): string {
  const { id, merOrderNo, merchantNo, status, payeeId, bizFlowNo, respCode, problem, note, isNotified } = row;
  const isContradictory = row.needsPerson && status !== 'sending';
  return lines(
    line`registration ${id} (merOrderNo ${merOrderNo}, merchant ${merchantNo}) is ${MEANING[status]}` +
      (isContradictory ? ', but the reply contradicts itself' : ''),
    payeeId !== null && line`  payeeId ${payeeId}`,
    bizFlowNo !== null && line`  bizFlowNo ${bizFlowNo}`,
    respCode !== null && respCode !== BENEFICIARY_ACCEPTED && line`  the platform’s respCode is ${respCode}`,
    problem !== null && line`  ${problem}`,
    note !== null && line`  settled by a person: ${note}`,
    row.needsPerson && settleOrRelease(id),
    !row.needsPerson && isWithoutPayee(row) && withoutPayee(row),
    status === '01' && (isNotified ? RESULT_COMES : NO_RESULT),
    status === 'sending' && !row.needsPerson && SEND_AGAIN,
    status === 'refused' && HOW_TO_FIX,
  );
}

/** The platform's document names the operation for this case and does not describe it (docs/platform.md 4.5). */
const withoutPayee = ({ id, bizFlowNo }: BeneficiaryRow): string =>
  `  the platform sent no payeeId, which payments need: its operation sp2402 has it${
    bizFlowNo === null ? '' : ` under bizFlowNo ${bizFlowNo}`
  };\n  record it by \`daybook beneficiary settle ${id} --status 04 --payee-id ID\``;

const RESULT_COMES = '  its result comes to `daybook serve`';
const NO_RESULT =
  '  its result does not come here: DAYBOOK_PUBLIC_URL was not set, or the file has a callbackUrl of its own;' +
  '\n  once the platform has reported it, `daybook beneficiary settle ID --status STATUS` records it';
const SEND_AGAIN =
  '  register the same file again, or `daybook beneficiary resend ID`: the platform does not process a number twice.' +
  '\n  Where the platform is known never to have taken it, `daybook beneficiary release ID --note TEXT` frees its payee';
const HOW_TO_FIX = '  fix the file, or the settings, and register it again under the same number';

const listText = (rows: readonly BeneficiaryRow[], times: Times): string => {
  if (rows.length === 0) return 'no registration yet; `daybook beneficiary register FILE` makes one';
  const listed = listTable(rows, {
    '>id': ({ id }) => id,
    merOrderNo: ({ merOrderNo }) => merOrderNo,
    '?merchant': ({ merchantNo }) => merchantNo,
    '?kind': ({ bizMode }) => (bizMode === 'B' ? 'enterprise' : 'individual'),
    '~status': ({ status, needsPerson }) => `${MEANING[status]}${needsPerson ? '; needs a person' : ''}`,
    payeeId: ({ payeeId }) => payeeId,
    '?recorded': ({ recordedAt }) => times.at(recordedAt),
  });
  return lines(listed, times.note);
};
