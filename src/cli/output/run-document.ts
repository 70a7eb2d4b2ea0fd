/** Reports as JSON documents: errors as name and sentence, dates as ISO texts. */
import type { MerchantSync, RunReport } from '../../run/report.ts';

export const syncDocument = ({ report, ...merchant }: MerchantSync) => ({
  ...merchant,
  report: {
    ...report,
    failure: report.failure && { name: report.failure.name, message: report.failure.message },
  },
});

export const runDocument = (report: RunReport) => ({ ...report, sync: report.sync.map(syncDocument) });
