/** Help as it fits the terminal. */
import { Help, type Command, type Option } from 'commander';

/** Longer lines are hard to read, however wide the terminal is. */
const WIDTH_MAX = 120;

/** For a program before its commands are added, which take it over. */
export const withFittingHelp = (program: Command): Command =>
  program
    .configureOutput({ writeOut: (text) => void process.stdout.write(refilled(text, outWidth())) })
    .configureHelp({ optionDescription });

/** Without a terminal, lines stay as they are written. */
const outWidth = (): number =>
  process.stdout.isTTY ? Math.min(process.stdout.columns, WIDTH_MAX) : Infinity;

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
    const filled: string[] = [];
    for (const word of paragraph.trimEnd().split(/\s+/)) {
      const last = filled.at(-1);
      if (last === undefined || last.length + 1 + word.length > width) filled.push(word);
      else filled[filled.length - 1] = `${last} ${word}`;
    }
    return filled.join('\n') + end;
  });
