/** Puts all commands together into the program `daybook`. */
import { Command, CommanderError } from 'commander';
import { EXIT } from '../run/verdict/exit-codes.ts';
import { addAlertsCommand } from './alerts.ts';
import { addBackfillCommand } from './backfill.ts';
import { addBeneficiaryCommand } from './beneficiary.ts';
import { addBreaksCommand } from './breaks.ts';
import { addCloseCommand } from './close.ts';
import { ownVersion, printError } from './context.ts';
import { addDemoOnboardingCommand } from './demo/demo-onboarding.ts';
import { addDemoCommand } from './demo/demo.ts';
import { addAmendmentsCommand, addEntriesCommand, addQuarantineCommand } from './entries.ts';
import { addAuditCommand, addDoctorCommand, addMigrateCommand, addPruneCommand } from './maintenance.ts';
import { addMerchantsCommand } from './merchants.ts';
import { addNotificationsCommand } from './notifications.ts';
import { addOnboardCommand } from './onboard.ts';
import { withFittingHelp } from './output/text.ts';
import { addJobsCommand, addWorkerCommand } from './queue.ts';
import { addReferenceCommand } from './reference.ts';
import { addPlanCommand, addRunCommands } from './run.ts';
import { addRunsCommand } from './runs.ts';
import { addSandboxCommand } from './sandbox.ts';
import { addScheduleCommand } from './schedule.ts';
import { addAccessCommand, addServeCommand } from './serve.ts';
import { addStatementsCommand } from './statements.ts';
import { addMetricsCommand, addStatusCommand } from './status.ts';
import { addVerifyCommand } from './verify.ts';

const EXIT_CODES_TEXT = `
Exit codes: 0 complete, nothing needs attention; 2 invalid usage or settings; 3 complete, needs attention; 4 incomplete,
certified data is kept; 5 another run holds the lease; 70 internal error.`;

/** The complete command line. Parsing it runs the command. */
export function createProgram(): Command {
  const program = withFittingHelp(new Command('daybook'))
    .description('your own proven copy of a payments-platform ledger, and daily statements made of it')
    .version(ownVersion())
    .option(
      '--config <file>',
      'settings, YAML (see config/daybook.example.yaml); the environment wins over it',
    )
    .option('--json', 'print one JSON document')
    .addHelpText('after', EXIT_CODES_TEXT)
    .showHelpAfterError('(use --help to list the commands)');
  addRunCommands(program);
  addBackfillCommand(program);
  addPlanCommand(program);
  addStatusCommand(program);
  addMetricsCommand(program);
  addRunsCommand(program);
  addBreaksCommand(program);
  addAmendmentsCommand(program);
  addQuarantineCommand(program);
  addEntriesCommand(program);
  addStatementsCommand(program);
  addCloseCommand(program);
  addVerifyCommand(program);
  addAuditCommand(program);
  addAlertsCommand(program);
  addMerchantsCommand(program);
  addReferenceCommand(program);
  addBeneficiaryCommand(program);
  addOnboardCommand(program);
  addNotificationsCommand(program);
  addScheduleCommand(program);
  addWorkerCommand(program);
  addJobsCommand(program);
  addServeCommand(program);
  addAccessCommand(program);
  addMigrateCommand(program);
  addPruneCommand(program);
  addDoctorCommand(program);
  addSandboxCommand(program);
  addDemoCommand(program);
  addDemoOnboardingCommand(program);
  everyCommand(program, (command) => {
    command.exitOverride();
    if (command !== program) {
      command.option('--json', 'print one JSON document').option('--config <file>', 'settings, YAML');
    }
  });
  return program;
}

function everyCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const sub of command.commands) everyCommand(sub, visit);
}

/** Parses the arguments, runs the command and prints its errors. The exit code is in `process.exitCode`. */
export async function runCommandLine(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync([...argv]);
  } catch (error) {
    // Commander has printed its own errors already. Asking for help is not an error.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? EXIT.done : EXIT.usage;
    else printError(error);
  }
}
