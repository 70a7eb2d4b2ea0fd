/**
 * The process of a lane: holds one Vitest over the lane's copy of the tree, so that a mutant does not pay for its start.
 * Started with the copy as its folder, and asked over IPC.
 */
import { join } from 'node:path';
import { BaseSequencer, createVitest, type TestModule } from 'vitest/node';
import type { Asked, Reply } from './lane.ts';

/** As they are asked for, one after the other. */
class InOrder extends BaseSequencer {
  override sort(files: Parameters<BaseSequencer['sort']>[0]): ReturnType<BaseSequencer['sort']> {
    return Promise.resolve(files);
  }
}

const root = process.cwd();
const reply = (message: Reply): void => void process.send!(message);
/** Failed before a test of it could run. */
const brokenModule = (module: TestModule): string | null =>
  module.state() === 'failed' ? (module.errors()[0]?.message ?? 'it failed') : null;

const vitest = await createVitest({
  ...{ root, watch: false, bail: 1, sequence: { sequencer: InOrder } },
  maxWorkers: Number(process.env['DAYBOOK_MUTATE_WORKERS']),
  // A mutant that is waited for in vain costs as long as this.
  ...{ testTimeout: 20_000, hookTimeout: 20_000 },
  reporters: [
    {
      onTestCaseReady: () => reply({ kind: 'alive' }),
      onTestCaseResult: (test) => {
        const { state, errors } = test.result();
        const file = test.module.relativeModuleId;
        const message = errors?.[0]?.message ?? '';
        reply(state === 'failed' ? { kind: state, file, test: test.fullName, message } : { kind: 'alive' });
      },
      onTestModuleEnd: (module) => {
        const message = brokenModule(module);
        const { duration, collectDuration, environmentSetupDuration, prepareDuration, setupDuration } =
          module.diagnostic();
        const ms = duration + collectDuration + environmentSetupDuration + prepareDuration + setupDuration;
        if (message === null) reply({ kind: 'passed', file: module.relativeModuleId, ms });
        else reply({ kind: 'failed', file: module.relativeModuleId, test: '', message });
      },
    },
  ],
});
await vitest.standalone();
await vitest.globTestSpecifications();
// Vitest keeps compiled modules in the folder it began with. What tests leave goes elsewhere, and is deleted.
process.env['TMPDIR'] = process.env['DAYBOOK_MUTATE_TMPDIR'];

process.on('disconnect', () => process.exit());
process.on('message', ({ changed, tests }: Asked) => {
  for (const file of changed) vitest.invalidateFile(join(root, file));
  const asked = tests.flatMap((test) => vitest.getModuleSpecifications(join(root, test)));
  void vitest.runTestSpecifications(asked).then(
    ({ unhandledErrors }) => reply({ kind: 'done', unhandled: unhandledErrors.map(String) }),
    (error: unknown) => reply({ kind: 'done', unhandled: [String(error)] }),
  );
});
reply({ kind: 'ready' });
