/** Draws aligned columns of text for a terminal, which shows some characters two columns wide. */

interface TableColumn {
  readonly isRight: boolean;
  /** Columns of the terminal, from 1, in which sentences are broken into lines; null: as wide as the widest cell. */
  readonly width: number | null;
}

const GAP = '  ';
const CUT = '…';

/**
 * One line of text per row, or as many as its sentences need. Each cell is one line without control characters. A word that
 * is wider than its column is cut, and ends in `…`.
 */
export function drawTable(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): string {
  // Where the terminal is too narrow, a table may be left without columns.
  if (columns.length === 0) return '';
  const widths = columns.map(
    ({ width }, at) => width ?? rows.reduce((widest, row) => Math.max(widest, shownWidth(row[at]!)), 1),
  );
  const drawn = rows.flatMap((row) => {
    const cells = row.map((text, at) =>
      columns[at]!.width === null ? [text] : wordLines(text, widths[at]!),
    );
    const height = cells.reduce((most, { length }) => Math.max(most, length), 1);
    return Array.from({ length: height }, (_, nth) =>
      cells
        .map((lines, at) => aligned(lines[nth] ?? '', widths[at]!, columns[at]!.isRight))
        .join(GAP)
        .trimEnd(),
    );
  });
  return drawn.join('\n');
}

function aligned(text: string, width: number, isRight: boolean): string {
  const fitting = shownWidth(text) <= width ? text : cutTo(text, width - 1) + CUT;
  const padding = ' '.repeat(width - shownWidth(fitting));
  return isRight ? padding + fitting : fitting + padding;
}

const CHARACTERS = new Intl.Segmenter('en', { granularity: 'grapheme' });

function cutTo(text: string, width: number): string {
  const characters = Array.from(CHARACTERS.segment(text), ({ segment }) => segment);
  while (shownWidth(characters.join('')) > width) characters.pop();
  return characters.join('');
}

/** As many words on each line as fit. Space where a line is broken is left out. */
function wordLines(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  let lineWidth = 0;
  const parts = text.split(/(\s+)/);
  for (let at = 0; at < parts.length; at += 2) {
    const word = parts[at]!;
    const space = parts[at - 1] ?? '';
    const longerWidth = lineWidth + (lineWidth > 0 ? space.length : 0) + shownWidth(word);
    if (longerWidth > width) {
      if (lineWidth > 0) lines.push(line);
      [line, lineWidth] = [word, shownWidth(word)];
    } else {
      [line, lineWidth] = [line + space + word, longerWidth];
    }
  }
  if (lineWidth > 0) lines.push(line);
  return lines;
}

const ASCII = /^[ -~]*$/;
/** Shown as one picture, two columns wide. */
const PICTURE = /\p{RGI_Emoji}|\p{Emoji_Presentation}|\p{Emoji_Modifier_Base}/gv;
/** What EastAsianWidth.txt of Unicode has as wide or fullwidth. */
const WIDE =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3040-\u3247\u3250-\u4dbf\u4e00-\ua4c6\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{1b000}\u{1b001}\u{1f200}-\u{1f251}\u{20000}-\u{3fffd}]/u;
const COMBINING = /[\u0300-\u036f]/;

/** How many columns a terminal takes for a text without control characters. */
function shownWidth(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text.replace(PICTURE, '  ')) {
    if (!COMBINING.test(character)) width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}
