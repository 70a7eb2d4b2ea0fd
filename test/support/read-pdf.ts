/** Reads a PDF: the texts of each page, and where they stand. */
import { getDocumentProxy } from 'unpdf';

export interface TextItem {
  readonly text: string;
  /** From the left and from the bottom, in points. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

export interface PdfPage {
  readonly width: number;
  readonly height: number;
  /** In the order in which they were drawn. */
  readonly items: readonly TextItem[];
}

export async function pagesOf(bytes: Uint8Array): Promise<PdfPage[]> {
  const pdf = await getDocumentProxy(new Uint8Array(bytes));
  const pages: PdfPage[] = [];
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const page = await pdf.getPage(number);
    const [, , width = 0, height = 0] = page.view;
    const { items } = await page.getTextContent({ disableNormalization: true });
    pages.push({
      ...{ width, height },
      items: items.flatMap((item) =>
        // Between texts that stand next to each other, the reader puts a space of its own.
        'str' in item && item.str.trim() !== ''
          ? [
              {
                text: item.str,
                x: item.transform[4] as number,
                y: item.transform[5] as number,
                width: item.width,
              },
            ]
          : [],
      ),
    });
  }
  await pdf.cleanup();
  return pages;
}

/** The texts line by line; those next to each other with a bar between. */
export function linesOf({ items }: PdfPage): string[] {
  const lines: { readonly y: number; readonly texts: string[] }[] = [];
  for (const { text, y } of items) {
    const last = lines.at(-1);
    if (last !== undefined && Math.abs(last.y - y) < 2) last.texts.push(text);
    else lines.push({ y, texts: [text] });
  }
  return lines.map(({ texts }) => texts.join(' | '));
}

export const textOf = (pages: readonly PdfPage[]): string => pages.flatMap(linesOf).join('\n');
