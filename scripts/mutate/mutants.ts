/** The mutants of a source text: small faults, each of which a test ought to notice. */
import { stripTypeScriptTypes } from 'node:module';
import { parseSync, visitorKeys, type Node } from 'oxc-parser';

export interface Mutant {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** The name of the top-level declaration it is in; empty if there is none. */
  readonly within: string;
  /** The lines it changes, trimmed, and what they become. With the file they name it when lines move. */
  readonly before: string;
  readonly after: string;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

/** Replaces the text from `start` up to but not including `end`. */
type Change = readonly [start: number, end: number, replacement: string];

/** Each operator with those that take its place. */
const OPERATORS = new Map([
  ['<', '<='],
  ['<=', '<'],
  ['>', '>='],
  ['>=', '>'],
  ['===', '!=='],
  ['!==', '==='],
  ['&&', '||'],
  ['||', '&&'],
  ['??', '&&'],
  ['-', '+'],
  ['+', '-'],
  ['*', '/'],
  ['/', '*'],
  ['%', '*'],
  ['+=', '-='],
  ['-=', '+='],
]);

/** Methods that are each other's opposite. */
const METHODS = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
]);

/** Larger numbers are sizes, bounds and times, which one more or less does not make wrong. */
const NUMBER_MAX = 10;

type Of<Type extends Node['type']> = Extract<Node, { readonly type: Type }>;

/** A text with its tree. */
interface Source {
  readonly text: string;
  /** The text with its comments blank. */
  readonly code: string;
}

const textOf = ({ text }: Source, { start, end }: Node): string => text.slice(start, end);

/** What stands in a chain as in `a?.b()`. */
const unchained = (node: Node): Node => (node.type === 'ChainExpression' ? node.expression : node);

const isLog = (source: Source, node: Node): boolean =>
  node.type === 'CallExpression' && /^(?:\w+\.)*(?:log|logger|console)\b/.test(textOf(source, node.callee));

const isText = (node: Node): boolean =>
  node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string');

/** A text for people: it has several words, and is not compared, a key, a name or in a language of its own. */
function isMessage(source: Source, node: Node, parent: Node): boolean {
  if (!isText(node) || !/\s\S/.test(textOf(source, node))) return false;
  if (parent.type === 'TaggedTemplateExpression' || parent.type === 'SwitchCase') return false;
  if (parent.type === 'MemberExpression') return !parent.computed;
  if (parent.type === 'Property') return parent.key !== node || parent.computed;
  return !(parent.type === 'BinaryExpression' && /^[!=]==$/.test(parent.operator));
}

function ofBinary(
  { code }: Source,
  node: Of<'AssignmentExpression' | 'BinaryExpression' | 'LogicalExpression'>,
): Change[] {
  const { left, operator, right } = node;
  const other = OPERATORS.get(operator);
  if (other === undefined || (operator.startsWith('+') && (isText(left) || isText(right)))) return [];
  const start = code.indexOf(operator, left.end);
  return [[start, start + operator.length, other]];
}

/** Negates what is decided on, unless its own operator is the same as a negation. */
function ofCondition(source: Source, condition: Node): Change[] {
  const { start, end } = condition;
  if (condition.type === 'UnaryExpression' && condition.operator === '!')
    return [[start, condition.argument.start, '']];
  if (condition.type === 'BinaryExpression' && /^[!=]==$/.test(condition.operator)) return [];
  return [[start, end, `!(${textOf(source, condition)})`]];
}

/** What is returned, turned round or empty. */
function ofResult(source: Source, result: Node, parent: Node): Change[] {
  const { start, end } = result;
  if (result.type === 'Literal' && typeof result.value === 'boolean')
    return [[start, end, String(!result.value)]];
  if (result.type === 'ArrayExpression' && result.elements.length > 0) return [[start, end, '[]']];
  return isText(result) && !isMessage(source, result, parent) ? [[start, end, "''"]] : [];
}

function ofCall({ callee, end }: Of<'CallExpression'>): Change[] {
  if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier' || callee.computed)
    return [];
  const { object, property } = callee;
  if (property.name === 'filter') return [[object.end, end, '']];
  const other = METHODS.get(property.name);
  return other === undefined ? [] : [[property.start, property.end, other]];
}

/** A statement that is a call, which could be forgotten. */
function ofStatement({ expression, start, end }: Of<'ExpressionStatement'>): Change[] {
  let called: Node = expression;
  while (
    called.type === 'AwaitExpression' ||
    (called.type === 'UnaryExpression' && called.operator === 'void')
  )
    called = called.argument;
  return /^(?:Call|Import)Expression$/.test(unchained(called).type) ? [[start, end, ';']] : [];
}

function ofNumber(value: number, { start, end }: Node): Change[] {
  if (!Number.isInteger(value) || value > NUMBER_MAX) return [];
  const others = value === 0 ? [1] : [value + 1, value - 1];
  return others.map((other) => [start, end, String(other)]);
}

function changesAt(source: Source, node: Node, parent: Node): Change[] {
  const { type } = node;
  if (type === 'AssignmentExpression' || type === 'BinaryExpression' || type === 'LogicalExpression')
    return ofBinary(source, node);
  if (type === 'IfStatement' || type === 'ConditionalExpression') return ofCondition(source, node.test);
  if (type === 'ReturnStatement') return node.argument === null ? [] : ofResult(source, node.argument, node);
  if (type === 'ArrowFunctionExpression') return ofResult(source, node.body, node);
  if (type === 'CallExpression') return ofCall(node);
  if (type === 'ExpressionStatement') return ofStatement(node);
  if (type === 'Literal' && typeof node.value === 'number') return ofNumber(node.value, node);
  if (isMessage(source, node, parent)) return [[node.start, node.end, "''"]];
  if (type !== 'SpreadElement') return [];
  const { start, end } = node.argument;
  return [[start, end, parent.type === 'ObjectExpression' ? '{}' : '[]']];
}

/** Expressions with a type next to them. */
const TYPED = /^TS(?:As|Satisfies|NonNull|Instantiation)Expression$/;

/** Types, imports, the names of exports, and what is logged. */
const isSkipped = (source: Source, node: Node): boolean =>
  (node.type.startsWith('TS') && !TYPED.test(node.type)) ||
  /^(?:Import|ExportAll)Declaration$/.test(node.type) ||
  isLog(source, node) ||
  (node.type === 'ExpressionStatement' && isLog(source, unchained(node.expression)));

function nameOf(source: Source, statement: Node): string {
  if (statement.type === 'ExportNamedDeclaration' && statement.declaration !== null)
    return nameOf(source, statement.declaration);
  const named = statement.type === 'VariableDeclaration' ? statement.declarations[0]! : statement;
  if (!('id' in named) || named.id === null) return '';
  return 'name' in named.id ? named.id.name : textOf(source, named.id);
}

/** JavaScript as a tree, without the places of its parts; null if Node cannot read the text. */
function plainCode(text: string): string | null {
  try {
    const { program } = parseSync('source.js', stripTypeScriptTypes(text), { preserveParens: false });
    return JSON.stringify(program.body, (key, value: unknown) =>
      key === 'start' || key === 'end' ? undefined : typeof value === 'bigint' ? String(value) : value,
    );
  } catch {
    return null;
  }
}

export const applied = (text: string, { start, end, replacement }: Mutant): string =>
  text.slice(0, start) + replacement + text.slice(end);

/** Whether it can be read, and is another program than the text without it. */
export function isReal(text: string, mutant: Mutant): boolean {
  const code = plainCode(applied(text, mutant));
  return code !== null && code !== plainCode(text);
}

/** The parts of a tree, in the order of the text. */
const partsOf = (node: Node): Node[] =>
  visitorKeys[node.type]!.flatMap(
    (key) => (node as unknown as Record<string, Node | (Node | null)[]>)[key] ?? [],
  ).filter((part) => part !== null);

/** All mutants of a file, in the order of its text. Some may not be real. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const { program, comments } = parseSync(file, text);
  const code = comments.reduce(
    (left, { start, end }) => left.slice(0, start) + ' '.repeat(end - start) + left.slice(end),
    text,
  );
  const source: Source = { text, code };
  const found: Mutant[] = [];
  const add = (within: string, [start, end, replacement]: Change): void => {
    const begin = text.lastIndexOf('\n', start - 1) + 1;
    const lineEnd = text.indexOf('\n', end);
    const last = lineEnd === -1 ? text.length : lineEnd;
    const line = text.slice(0, start).split('\n').length;
    const before = text.slice(begin, last).trim();
    const after = (text.slice(begin, start) + replacement + text.slice(end, last)).trim();
    found.push({ file, line, within, before, after, start, end, replacement });
  };
  const visit = (node: Node, parent: Node, within: string): void => {
    if (isSkipped(source, node)) return;
    for (const change of changesAt(source, node, parent)) add(within, change);
    for (const part of partsOf(node)) visit(part, node, within);
  };
  for (const statement of program.body) visit(statement, program, nameOf(source, statement));
  return found.sort((a, b) => a.start - b.start);
}
