/** Help as it fits the terminal. */
import { Help, type Command, type Option } from 'commander';
import { terminalWidth } from './text.ts';
import { filledLines } from './wrapped.ts';

/** Longer lines are hard to read, however wide the terminal is. */
const WIDTH_MAX = 120;

/** For a program before its commands are added, which take it over. */
export const withFittingHelp = (program: Command): Command =>
  program
    .configureOutput({ writeOut: (text) => void process.stdout.write(refilled(text, helpWidth())) })
    .configureHelp({ optionDescription });

/** Without a terminal, lines stay as they are written. */
const helpWidth = (): number => {
  const width = terminalWidth();
  return width === Infinity ? width : Math.min(width, WIDTH_MAX);
};

/** That an option is given by nobody at first is no default to tell. */
function optionDescription(this: Help, option: Option): string {
  const { defaultValue } = option as { readonly defaultValue: unknown };
  return Array.isArray(defaultValue) && defaultValue.length === 0
    ? option.description
    : Help.prototype.optionDescription.call(this, option);
}

/** Paragraphs filled anew where one of their lines is too long; what is indented, like an example, stays as it is. */
export const refilled = (text: string, width: number): string =>
  text.replace(/(?:^(?!\s).+\n?)+/gm, (paragraph) => {
    if (paragraph.split('\n').every((line) => line.length <= width)) return paragraph;
    const end = paragraph.endsWith('\n') ? '\n' : '';
    return filledLines(paragraph.trimEnd().split(/\s+/), width).join('\n') + end;
  });
