/** Reads statements and files of changes as an importer would, from what the standards say of their formats alone. */
import { XmlDocument, type XmlElement } from 'libxml2-wasm';

/** What a file says, and of which entries. An entry is everything that the format tells of it, as one text. */
export interface ReadFile {
  readonly id: string;
  readonly opening: string;
  readonly closing: string;
  readonly entries: readonly { readonly entry: string; readonly isReversal: boolean }[];
}

/** RFC 4180: cells of each record. */
function recordsIn(text: string): string[][] {
  const records: string[][] = [];
  let [cells, cell, isQuoted]: [string[], string, boolean] = [[], '', false];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]!;
    if (isQuoted) {
      if (character !== '"') cell += character;
      else if (text[at + 1] === '"') cell += text[(at += 1)]!;
      else isQuoted = false;
    } else if (character === '"') isQuoted = true;
    else if (character === ',' || character === '\r') {
      cells.push(cell);
      cell = '';
      if (character === ',') continue;
      records.push(cells);
      cells = [];
      at += 1;
    } else cell += character;
  }
  return records;
}

export function readCsv(text: string): ReadFile {
  const [header, ...rows] = recordsIn(text);
  const entries = rows.map((cells) => {
    const named = Object.fromEntries(header!.map((name, at) => [name, cells[at]!]));
    const { change, credit, debit, ...rest } = named;
    const isReversal = change === 'reversed';
    const sides = isReversal ? { credit: debit, debit: credit } : { credit, debit };
    return { entry: JSON.stringify({ ...rest, ...sides }), isReversal };
  });
  return { id: '', opening: '', closing: '', entries };
}

const NAMESPACE = { d: 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08' };
const OTHER = { CRDT: 'DBIT', DBIT: 'CRDT' } as const;

/** ISO 20022: `CdtDbtInd` of a reversal is the direction of the reversal, the opposite of what is taken back. */
export function readCamt(text: string): ReadFile {
  const document = XmlDocument.fromString(text);
  try {
    const all = (path: string, from: XmlElement) => from.find(path, NAMESPACE) as XmlElement[];
    const value = (path: string, from: XmlElement): string => all(path, from)[0]?.content ?? '';
    const top = document.root;
    const balance = (code: string): string => {
      const [found] = all(`.//d:Bal[d:Tp/d:CdOrPrtry/d:Cd='${code}']`, top);
      return (value('d:CdtDbtInd', found!) === 'DBIT' ? '-' : '') + value('d:Amt', found!);
    };
    const entries = all('.//d:Ntry', top).map((one) => {
      const isReversal = value('d:RvslInd', one) === 'true';
      const side = value('d:CdtDbtInd', one) as keyof typeof OTHER;
      const told = ['d:NtryRef', 'd:AcctSvcrRef', 'd:Amt', 'd:BookgDt', 'd:ValDt', 'd:BkTxCd', 'd:NtryDtls'];
      return {
        entry: [isReversal ? OTHER[side] : side, ...told.map((path) => value(path, one))].join('|'),
        isReversal,
      };
    });
    return { id: value('.//d:MsgId', top), opening: balance('OPBD'), closing: balance('CLBD'), entries };
  } finally {
    document.dispose();
  }
}

/** SWIFT: `RC` is the reversal of a credit, and a debit; `RD` that of a debit. */
export function readMt940(text: string): ReadFile {
  const amount = (field: string): string => {
    const [, side, sum] = /^([CD])\d{6}[A-Z]{3}(\d+,\d*)$/.exec(field)!;
    return (side === 'D' ? '-' : '') + sum!.replace(',', '.');
  };
  const entries: { entry: string; isReversal: boolean }[] = [];
  let [id, opening, closing] = ['', '', ''];
  let isLast = false;
  for (const [, tag, content] of text.matchAll(/^:(\d\d[A-Z]?):([^]*?)\r\n(?=:|-\r\n)/gm)) {
    if (tag === '20') id = content!;
    if (tag === '60F') opening = amount(content!);
    if (tag === '62F') closing = amount(content!);
    if (tag === '62F') isLast = true;
    if (tag === '61') {
      const [, days, mark, rest] = /^(\d{10})(R?[CD])(\d+,\d*N.*)$/.exec(content!)!;
      entries.push({ entry: `${days!} ${mark!.at(-1)!} ${rest!}`, isReversal: mark!.startsWith('R') });
    }
    if (tag === '86' && !isLast) entries.at(-1)!.entry += content!.replaceAll('\r\n', '');
  }
  return { id, opening, closing, entries };
}
