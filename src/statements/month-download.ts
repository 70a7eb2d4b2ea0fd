/** The files of a month's download in a format. In PDF, the month's overview comes first. */
import { PDF } from './formats/pdf/pdf.ts';
import type { Month } from './month.ts';
import { merchantMonth, type MerchantMonth, type MonthSources } from './month-files.ts';
import { monthOverview, type OverviewAsked } from './month-overview.ts';
import { monthPdf } from './month-pdf.ts';

export const monthPdfName = ({ name }: Month, merchantNo: string): string =>
  `month-${name}-${merchantNo}.pdf`;

/** The overview is read when its turn comes. Where nothing was published there are no files. */
export async function monthDownload(sources: MonthSources, asked: OverviewAsked): Promise<MerchantMonth> {
  const { merchantNo, month, currencies, now } = asked;
  const found = await merchantMonth(sources, merchantNo, month, currencies);
  if (sources.format.name !== PDF.name || found.files.length === 0) return found;
  async function* read(): AsyncGenerator<Uint8Array> {
    yield* monthPdf((await monthOverview(sources.db, asked))!);
  }
  const overview = { key: monthPdfName(month, merchantNo), publishedAt: now(), read };
  return { ...found, files: [overview, ...found.files] };
}
