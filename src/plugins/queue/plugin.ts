import { workQueueSlot } from '../../run/work-queue.ts';
import type { Plugin } from '../../plugin.ts';

export const queue: Plugin = {
  name: 'queue',
  about: 'workers on many machines, which share the merchants of a run',
  settings: async () => (await import('./settings.ts')).queueSettings,
  docs: ['runbook.md#workers'],
  commands: [
    {
      usage: 'worker [options]',
      about:
        'do one merchant’s work after another from the queue, until SIGTERM or Ctrl-C; on as many machines as you like',
      after: 'schedule',
      load: async () => (await import('./worker-command.ts')).workerCommand,
    },
    {
      usage: 'jobs [options]',
      about: 'the queue of merchants for `daybook worker`',
      after: 'schedule',
      load: async () => (await import('./jobs-command.ts')).jobsCommand,
    },
  ],
  register: () =>
    workQueueSlot.fill({
      install: async (db) => {
        const { installQueue, QUEUE_SCHEMA } = await import('./queue.ts');
        return (await installQueue(db)) ? [QUEUE_SCHEMA] : [];
      },
      glance: async (db) => (await import('./jobs.ts')).glanceAtQueue(db),
      withSlots: async (app, log, work) => (await import('./slots.ts')).withSlots(app, log, work),
    }),
};
