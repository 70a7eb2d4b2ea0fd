/** The mutants of a source text: small faults, each of which a test ought to notice. */
import { stripTypeScriptTypes } from 'node:module';
import ts from 'typescript';

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

const { SyntaxKind } = ts;

/** Each operator with those that take its place. */
const OPERATORS = new Map<ts.SyntaxKind, string>([
  [SyntaxKind.LessThanToken, '<='],
  [SyntaxKind.LessThanEqualsToken, '<'],
  [SyntaxKind.GreaterThanToken, '>='],
  [SyntaxKind.GreaterThanEqualsToken, '>'],
  [SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [SyntaxKind.AmpersandAmpersandToken, '||'],
  [SyntaxKind.BarBarToken, '&&'],
  [SyntaxKind.QuestionQuestionToken, '&&'],
  [SyntaxKind.MinusToken, '+'],
  [SyntaxKind.PlusToken, '-'],
  [SyntaxKind.AsteriskToken, '/'],
  [SyntaxKind.SlashToken, '*'],
  [SyntaxKind.PercentToken, '*'],
  [SyntaxKind.PlusEqualsToken, '-='],
  [SyntaxKind.MinusEqualsToken, '+='],
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

const isLog = (node: ts.Node): boolean =>
  ts.isCallExpression(node) && /^(?:\w+\.)*(?:log|logger|console)\b/.test(node.expression.getText());

const isText = (node: ts.Node): boolean => ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);

/** A text for people: it has several words, and is not compared, a key, a name or in a language of its own. */
function isMessage(node: ts.Node): boolean {
  const { parent } = node;
  if (!isText(node) || !/\s\S/.test(node.getText())) return false;
  if (ts.isTaggedTemplateExpression(parent) || ts.isCaseClause(parent)) return false;
  if (ts.isElementAccessExpression(parent) || (ts.isPropertyAssignment(parent) && parent.name === node))
    return false;
  return !(ts.isBinaryExpression(parent) && /^[!=]==$/.test(parent.operatorToken.getText()));
}

const isTextSum = ({ left, right }: ts.BinaryExpression): boolean => isText(left) || isText(right);

function ofBinary(node: ts.BinaryExpression): Change[] {
  const { operatorToken: token } = node;
  const other = OPERATORS.get(token.kind);
  if (other === undefined || (/^\+/.test(token.getText()) && isTextSum(node))) return [];
  return [[token.getStart(), token.end, other]];
}

/** Negates what is decided on, unless its own operator is the same as a negation. */
function ofCondition(condition: ts.Expression): Change[] {
  const [start, end] = [condition.getStart(), condition.end];
  if (ts.isPrefixUnaryExpression(condition) && condition.operator === SyntaxKind.ExclamationToken) {
    return [[start, condition.operand.getStart(), '']];
  }
  if (ts.isBinaryExpression(condition) && /^[!=]==$/.test(condition.operatorToken.getText())) return [];
  return [[start, end, `!(${condition.getText()})`]];
}

/** What is returned, turned round or empty. */
function ofResult(result: ts.Expression): Change[] {
  const [start, end] = [result.getStart(), result.end];
  if (result.kind === SyntaxKind.TrueKeyword) return [[start, end, 'false']];
  if (result.kind === SyntaxKind.FalseKeyword) return [[start, end, 'true']];
  if (ts.isArrayLiteralExpression(result) && result.elements.length > 0) return [[start, end, '[]']];
  return isText(result) && !isMessage(result) ? [[start, end, "''"]] : [];
}

function ofCall(node: ts.CallExpression): Change[] {
  const { expression } = node;
  if (!ts.isPropertyAccessExpression(expression)) return [];
  const { name } = expression;
  if (name.text === 'filter') return [[expression.expression.end, node.end, '']];
  const other = METHODS.get(name.text);
  return other === undefined ? [] : [[name.getStart(), name.end, other]];
}

/** A statement that is a call, which could be forgotten. */
function ofStatement(node: ts.ExpressionStatement): Change[] {
  let { expression } = node;
  while (ts.isAwaitExpression(expression) || ts.isVoidExpression(expression))
    expression = expression.expression;
  return ts.isCallExpression(expression) ? [[node.getStart(), node.end, ';']] : [];
}

function ofNumber(node: ts.NumericLiteral): Change[] {
  const value = Number(node.text);
  if (!Number.isInteger(value) || value > NUMBER_MAX) return [];
  const others = value === 0 ? [1] : [value + 1, value - 1];
  return others.map((other) => [node.getStart(), node.end, String(other)]);
}

function changesAt(node: ts.Node): Change[] {
  if (ts.isBinaryExpression(node)) return ofBinary(node);
  if (ts.isIfStatement(node)) return ofCondition(node.expression);
  if (ts.isConditionalExpression(node)) return ofCondition(node.condition);
  if (ts.isReturnStatement(node)) return node.expression === undefined ? [] : ofResult(node.expression);
  if (ts.isArrowFunction(node)) return ts.isBlock(node.body) ? [] : ofResult(node.body);
  if (ts.isCallExpression(node)) return ofCall(node);
  if (ts.isExpressionStatement(node)) return ofStatement(node);
  if (ts.isNumericLiteral(node)) return ofNumber(node);
  if (isMessage(node)) return [[node.getStart(), node.end, "''"]];
  if (ts.isSpreadElement(node)) return [[node.expression.getStart(), node.expression.end, '[]']];
  if (ts.isSpreadAssignment(node)) return [[node.expression.getStart(), node.expression.end, '{}']];
  return [];
}

/** Types, imports, the names of exports, and what is logged. */
const isSkipped = (node: ts.Node): boolean =>
  ts.isTypeNode(node) ||
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isImportDeclaration(node) ||
  ts.isExportDeclaration(node) ||
  isLog(node) ||
  (ts.isExpressionStatement(node) && isLog(node.expression));

function nameOf(statement: ts.Statement): string {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations[0]!.name.getText();
  return (statement as { readonly name?: ts.Node } & ts.Statement).name?.getText() ?? '';
}

/** JavaScript without types and comments; null if Node cannot read the text. */
function plainCode(text: string): string | null {
  try {
    const compilerOptions = { target: ts.ScriptTarget.ESNext, removeComments: true };
    return ts.transpileModule(stripTypeScriptTypes(text), { compilerOptions }).outputText;
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

/** All mutants of a file, in the order of its text. Some may not be real. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ESNext, true);
  const found: Mutant[] = [];
  const add = (within: string, [start, end, replacement]: Change): void => {
    const begin = text.lastIndexOf('\n', start - 1) + 1;
    const lineEnd = text.indexOf('\n', end);
    const last = lineEnd === -1 ? text.length : lineEnd;
    const line = source.getLineAndCharacterOfPosition(start).line + 1;
    const before = text.slice(begin, last).trim();
    const after = (text.slice(begin, start) + replacement + text.slice(end, last)).trim();
    found.push({ file, line, within, before, after, start, end, replacement });
  };
  const visit = (node: ts.Node, within: string): void => {
    if (isSkipped(node)) return;
    for (const change of changesAt(node)) add(within, change);
    node.forEachChild((child) => visit(child, within));
  };
  for (const statement of source.statements) visit(statement, nameOf(statement));
  return found.sort((a, b) => a.start - b.start);
}
