/** Reports as JSON documents: errors as name and sentence, dates as ISO texts. */
import type { MerchantSync, RunReport } from '../../run/report.ts';
import type { KnownNotice } from '../../store/notices.ts';

export const syncDocument = ({ report, ...merchant }: MerchantSync) => ({
  ...merchant,
  report: {
    ...report,
    failure: report.failure && { name: report.failure.name, message: report.failure.message },
  },
});

/** A notice about every account of a merchant has the currency ''. */
export const noticeDocument = (notice: KnownNotice) => ({ ...notice, currency: notice.currency ?? '' });

export const runDocument = (report: RunReport) => ({
  ...report,
  sync: report.sync.map(syncDocument),
  standing: { ...report.standing, notices: report.standing.notices.map(noticeDocument) },
});
