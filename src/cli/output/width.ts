/** Sentences and help that fit the terminal. */
import { Help, type Command, type Option } from 'commander';
import { filledLines, wrapped } from '../../ledger/wrapped.ts';

/** The width of the terminal; without one, or where it says none, a table may be as wide as it needs. */
export const terminalWidth = ({ isTTY, columns }: Terminal = process.stdout): number =>
  isTTY && columns > 0 ? columns : Infinity;

type Terminal = Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>;

/** Breaks text at the width of the terminal; without a terminal nothing is broken. */
export const fitted = (text: string): string => wrapped(text, terminalWidth());

/** Longer lines are hard to read, even on a wide terminal. */
const HELP_WIDTH_MAX = 120;

/** Call it before the commands are added, as they take over this configuration. */
export const withFittingHelp = (program: Command): Command =>
  program
    .configureOutput({ writeOut: (text) => void process.stdout.write(refilled(text, helpWidth())) })
    .configureHelp({ optionDescription });

/** Without a terminal, lines are not broken. */
const helpWidth = (): number => {
  const width = terminalWidth();
  return width === Infinity ? width : Math.min(width, HELP_WIDTH_MAX);
};

/** Leaves out a default that is an empty list: it only means that the option was not given. */
function optionDescription(this: Help, option: Option): string {
  const { defaultValue } = option as { readonly defaultValue: unknown };
  return Array.isArray(defaultValue) && defaultValue.length === 0
    ? option.description
    : Help.prototype.optionDescription.call(this, option);
}

/** Breaks a paragraph anew if one of its lines is too long. Indented lines, such as examples, stay as they are. */
export const refilled = (text: string, width: number): string =>
  text.replace(/(?:^(?!\s).+\n?)+/gm, (paragraph) => {
    if (paragraph.split('\n').every((line) => line.length <= width)) return paragraph;
    const end = paragraph.endsWith('\n') ? '\n' : '';
    return filledLines(paragraph.trimEnd().split(/\s+/), width).join('\n') + end;
  });
