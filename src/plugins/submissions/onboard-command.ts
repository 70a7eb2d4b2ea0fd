/** `onboard`: applications for merchants (sp1101): check, submit, status, list, settle. */
import type { Command } from 'commander';
import type { Problem } from '../../forms/problem.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import { thisHolder } from '../../host/process-identity.ts';
import { createApplicationClient } from './application-client.ts';
import {
  adviceOf,
  statusOfApplication,
  type ApplicationStatus,
  type RecordedName,
  forget,
  settleApplication,
} from './application-status.ts';
import { checkApplication } from './application-check.ts';
import { ApplicationInvalid, newOrderNo, submitApplication, type SubmitDeps } from './submit.ts';
import type { PlatformApp } from '../../run/app.ts';
import { UsageError, EXIT, mostSevere, type ExitCode } from '../../run/verdict/exit-codes.ts';
import { recordAuditEvent } from '../../store/audit.ts';
import { freeSpace } from '../../store/engine/database.ts';
import { callbackUrlOf, newNotifySecret } from '../../store/notify-path.ts';
import {
  markBrokenOff,
  listApplications,
  type ApplicationRow,
  type ApplicationState,
} from './applications.ts';
import {
  answer,
  auditEventOf,
  offlineSettings,
  platformSettings,
  print,
  stopSignal,
  withBy,
  withPlatform,
  type CommandOutput,
} from '../../cli/context.ts';
import { referenceFlag } from '../../cli/flags.ts';
import { readInputFile, rulesOf, warningText } from '../../cli/input-file.ts';
import { line, lines, listTable, timesOf, type Times } from '../../cli/output/text.ts';
import { notAppliedOf, notAppliedText, type NotificationRow } from './notifications.ts';
import { submissionSettings, todayOf } from './settings.ts';

const LISTED_MAX = 1_000;

export function onboardCommand(onboard: Command): void {
  addCheckCommand(onboard);
  addSubmitCommand(onboard);
  addStatusCommand(onboard);
  addListCommand(onboard);
  addSettleCommand(onboard);
  addForgetCommand(onboard);
}

function addCheckCommand(onboard: Command): void {
  onboard
    .command('check')
    .argument('<file>', 'the application, JSON or YAML')
    .description('check an application in full, and send nothing')
    .action((path: string, _flags: object, self: Command) => {
      const settings = offlineSettings(self);
      const now = settings.nowMs === null ? new Date() : new Date(settings.nowMs);
      const { publicUrl, fileRules } = settings;
      const warnings: Problem[] = [];
      const checked = checkApplication(readInputFile(path), {
        ...applicationRules(settings, now, warnings),
        defaults: {
          merOrderNo: newOrderNo(now),
          referralChannel: fileRules.referralChannel,
          callbackUrl: publicUrl === null ? null : callbackUrlOf(publicUrl, 'onboarding', newNotifySecret()),
          processVersion: null,
        },
      });
      const text = lines('nothing to correct; it can be submitted', ...warnings.map(warningText));
      const problems = 'problems' in checked ? checked.problems : null;
      print(
        self,
        problems === null
          ? { document: { problems: [], warnings }, text }
          : invalid(new ApplicationInvalid(problems)),
      );
    });
}

function addSubmitCommand(onboard: Command): void {
  onboard
    .command('submit')
    .argument('<file>', 'the application, JSON or YAML')
    .option(
      '--replaces <id>',
      'an earlier application that the platform confirmed it does not have; this one takes its place',
    )
    .description(
      'check an application and send it, once; what it holds is stored encrypted (needs DAYBOOK_SECRET_KEYS)',
    )
    .addHelpText(
      'after',
      '\nThe platform may treat a second copy as a second application. So if daybook cannot tell whether an application ' +
        'arrived,\nit sets its state to `unknown` and does not send it again; `daybook onboard status ID` says what to do.\n' +
        '\nconfig/application.example.yaml is an example of the file. Needs PLATFORM_BASE_URL, PLATFORM_TIME_ZONE and DAYBOOK_SECRET_KEYS; ' +
        '\nPLATFORM_REFERRAL_CHANNEL and DAYBOOK_PUBLIC_URL where the file leaves out referralChannel and callbackUrl.\n' +
        'daybook does not upload files and does not call sp1102 or sp2402, as the platform’s document does not describe them: the file\n' +
        'names paths that the platform’s upload returned.\n\nExample:\n  daybook onboard submit merchant.yaml',
    )
    .action(async (path: string, { replaces }: { readonly replaces?: string }, self: Command) => {
      const settings = platformSettings(self);
      const file = readInputFile(path);
      await withPlatform(settings, async (app, log) => {
        await markBrokenOff(app.database.db, app.now());
        const warnings: Problem[] = [];
        try {
          const earlier = replaces === undefined ? null : idOf(replaces);
          const row = await submitApplication(
            { file, replaces: earlier },
            submitDeps(app, stopSignal(), warnings),
          );
          log.info({ application: row.id, state: row.state }, 'application submitted');
          const hidden = { secretKeys: settings.secretKeys, secrets: tokensOf(settings), reveal: false };
          const status = await statusOfApplication(app.database.db, row.id, hidden);
          const { document, text, exitCode } = statusOutput(
            { ...status!, notApplied: [] },
            timesOf(settings),
          );
          print(self, {
            document: { ...(document as object), warnings },
            text: lines(text, ...warnings.map(warningText)),
            exitCode: exitCode!,
          });
        } catch (error) {
          if (!(error instanceof ApplicationInvalid)) throw error;
          print(self, invalid(error));
        }
      });
    });
}

const applicationRules = (settings: SettingsWithoutPlatform, now: Date, warnings: Problem[]) => {
  const { fileRules, codeLists } = submissionSettings.of(settings);
  return { ...rulesOf(fileRules.filePaths, todayOf(settings, now), warnings), codeLists };
};

export const submitDeps = (
  { database: { db }, transport, settings, now }: PlatformApp,
  signal: AbortSignal,
  warnings: Problem[] = [],
): SubmitDeps => ({
  client: createApplicationClient(transport),
  ...{ db, now, signal, secretKeys: settings.secretKeys, publicUrl: settings.publicUrl },
  rules: applicationRules(settings, now(), warnings),
  referralChannel: settings.platform.referralChannel,
  holder: thisHolder(),
  newOrderNo: () => newOrderNo(now()),
  newSecret: newNotifySecret,
});

const tokensOf = ({ platform }: SettingsWithoutPlatform): string[] =>
  [platform?.agentToken, platform?.merchant?.token].filter((token) => token != null);

function addStatusCommand(onboard: Command): void {
  withBy(onboard.command('status'))
    .argument('[id]', 'the application’s number; without it, every one that is not settled')
    .option('--reveal', 'print what the platform said in full: it may repeat personal data')
    .description('how applications stand, what the platform wants, and what to do next')
    .action((id: string | undefined, { reveal = false }: { readonly reveal?: boolean }, self: Command) =>
      answer(self, async ({ db, now, settings, times }) => {
        await markBrokenOff(db, now());
        const options = { secretKeys: settings.secretKeys, secrets: tokensOf(settings), reveal };
        const notApplied = await notAppliedOf(db, 'onboarding');
        const statusOf = async (asked: number): Promise<KnownStatus | null> => {
          const status = await statusOfApplication(db, asked, options);
          const pushed = notApplied.filter(({ merOrderNo }) => merOrderNo === status?.application.merOrderNo);
          return status === null ? null : { ...status, notApplied: pushed };
        };
        const subject = id === undefined ? 'every open one' : idOf(id);
        if (reveal) await recordAuditEvent(db, auditEventOf(self, subject), now());
        if (id !== undefined) {
          const status = await statusOf(idOf(id));
          if (status === null) throw unknownId(id);
          return statusOutput(status, times);
        }
        const rows = await listApplications(db, LISTED_MAX);
        const isAsked = (row: ApplicationRow) =>
          isUnsettled(row) || notApplied.some(({ merOrderNo }) => merOrderNo === row.merOrderNo);
        const statuses = await Promise.all(rows.filter(isAsked).map((row) => statusOf(row.id)));
        const open = statuses
          .filter((one) => one !== null)
          .filter((one) => one.replacedBy === null || one.notApplied.length > 0);
        const text =
          open.length === 0
            ? 'no application is open'
            : lines(open.map((one) => textOf(one, times)).join('\n\n'), '', times.note);
        const exitCode = open.some((one) => one.notApplied.length > 0) ? EXIT.needsPerson : EXIT.done;
        return { document: open.map(documentOf), text, exitCode };
      }),
    );
}

const isUnsettled = ({ state }: ApplicationRow): boolean =>
  ['submitting', 'accepted', 'unknown', 'supplement'].includes(state);

function addListCommand(onboard: Command): void {
  onboard
    .command('list')
    .description('every application, newest first')
    .action((_flags: object, self: Command) =>
      answer(self, async ({ db, now, times }) => {
        await markBrokenOff(db, now());
        const rows = await listApplications(db, LISTED_MAX);
        const listed = listTable(rows, {
          '>id': ({ id }) => id,
          state: ({ state }) => state,
          merOrderNo: ({ merOrderNo }) => merOrderNo,
          '?bizFlow': ({ bizFlow }) => bizFlow,
          '?merchant': ({ merchantNo }) => merchantNo,
          '?replaces': ({ replaces }) => replaces,
          '?submitted': ({ submittedAt }) => times.at(submittedAt),
          since: ({ changedAt }) => times.at(changedAt),
        });
        const none = 'no application yet; submit one with `daybook onboard submit FILE`';
        return { document: rows, text: rows.length === 0 ? none : lines(listed, times.note) };
      }),
    );
}

function addSettleCommand(onboard: Command): void {
  withBy(onboard.command('settle'))
    .argument('<id>', 'an application in the state unknown')
    .requiredOption('--biz-flow <flow>', 'the number the platform has it under')
    .description(
      'record that the platform does have an application whose state is `unknown`; ask the platform first',
    )
    .action((id: string, flags: { readonly bizFlow: string }, self: Command) => {
      const bizFlow = referenceFlag('--biz-flow', flags.bizFlow);
      return answer(self, async ({ db, now, recorded, times }) => {
        await markBrokenOff(db, now());
        const subject = idOf(id);
        const row = await recorded({ subject, note: `bizFlow ${bizFlow}` }, (trx, at) =>
          settleApplication(trx, { id: subject, bizFlow, now: at }),
        );
        return statusOutput(openItemsOfOne(row), times);
      });
    });
}

function addForgetCommand(onboard: Command): void {
  withBy(onboard.command('forget'))
    .argument('<id>', 'an application that is decided, refused or replaced')
    .description(
      'delete the personal data and pushed tokens of a closed application; only the record that it existed stays',
    )
    .action((text: string, _flags: object, self: Command) =>
      answer(self, async ({ database, recorded, times }) => {
        const id = idOf(text);
        const { forgottenAt } = await recorded({ subject: id }, (trx, at) => forget(trx, id, at));
        await freeSpace(database, ['application', 'notification', 'merchant'], { full: true });
        return {
          document: { id, forgottenAt },
          text: `application ${text}: the data sent and pushed for it is deleted since ${times.at(forgottenAt)} (${times.zone})`,
        };
      }),
    );
}

const unknownId = (text: string): UsageError =>
  new UsageError(`there is no application ${text}; \`daybook onboard list\` shows those there are.`);

function idOf(text: string): number {
  if (!/^[1-9]\d{0,14}$/.test(text)) throw unknownId(text);
  return Number(text);
}

interface KnownStatus extends ApplicationStatus {
  /** Results that were pushed for it, changed nothing, and wait for a person. */
  readonly notApplied: readonly NotificationRow[];
}

/** The status of an application that was just submitted or settled: nothing has replaced it, and no result has come. */
const openItemsOfOne = (application: ApplicationRow): KnownStatus => ({
  notApplied: [],
  application,
  replacedBy: null,
  advice: adviceOf(application),
  recordedName: null,
  findings: null,
});

/** The exit code that each state gives to a script that submits or asks. */
const EXIT_OF: Readonly<Record<ApplicationState, ExitCode>> = {
  submitting: EXIT.done,
  accepted: EXIT.done,
  approved: EXIT.done,
  refused: EXIT.needsPerson,
  supplement: EXIT.needsPerson,
  rejected: EXIT.needsPerson,
  unknown: EXIT.incomplete,
};

const invalid = ({ problems, message }: ApplicationInvalid): CommandOutput => ({
  document: { problems },
  text: message,
  exitCode: EXIT.usage,
});

const documentOf = ({ application, ...rest }: KnownStatus) => ({ ...application, ...rest });

const statusOutput = (status: KnownStatus, times: Times): CommandOutput => ({
  document: documentOf(status),
  text: lines(textOf(status, times), times.note),
  exitCode: mostSevere([
    status.replacedBy === null ? EXIT_OF[status.application.state] : EXIT.done,
    status.notApplied.length > 0 ? EXIT.needsPerson : EXIT.done,
  ]),
});

function textOf(
  { application, replacedBy, advice, recordedName, findings, notApplied }: KnownStatus,
  times: Times,
): string {
  const { id, state, merOrderNo, bizFlow, processVersion, problem, changedAt } = application;
  const version = findings?.processVersion ?? processVersion;
  return lines(
    `application ${id}: ${state} since ${times.at(changedAt)}`,
    line`  merOrderNo ${merOrderNo}${bizFlow === null ? '' : `, bizFlow ${bizFlow}`}`,
    problem !== null && line`  problem: ${problem}`,
    bizFlow === null &&
      findings?.bizFlow != null &&
      line`  bizFlow by the platform’s reply: ${findings.bizFlow}`,
    ...(findings?.reasons ?? []).map((reason) => line`  reason: ${reason}`),
    findings !== null && findings.fields.length > 0 && line`  fields: ${findings.fields.join(', ')}`,
    version !== null && line`  process version: ${version}`,
    recordedName !== null && line`  ${recordedText(recordedName)}`,
    replacedBy !== null && `  replaced by application ${replacedBy}`,
    ...notApplied.map((one) => line`  ${notAppliedText(one)}`),
    line`  ${advice}`,
  );
}

const recordedText = ({ isAsSent, name }: RecordedName): string =>
  (isAsSent
    ? 'the platform has the merchant under the English name that was sent'
    : 'the platform has the merchant under another English name than was sent') +
  (name !== null ? `: ${name}` : isAsSent ? '' : '; --reveal prints it');
