/** Places of the core that plugins fill: what comes too late, or twice, is told and not lost. */
import { expect, test } from 'vitest';
import { register, slot } from '../../src/host/slot.ts';

test('a slot has the part of one plugin, and null before', () => {
  const { fill, part } = slot<string>('the mail');
  expect(part()).toBeNull();
  fill('sent');
  expect(part()).toBe('sent');
  expect(() => fill('sent')).toThrow('two plugins bring the mail');
  expect(part()).toBe('sent');
});

test('a register has the entries of all plugins in their order, and takes none once it was read', () => {
  const formats = register<string>('formats');
  formats.add(['csv']);
  formats.add(['xlsx', 'pdf']);
  expect(formats.all()).toEqual(['csv', 'xlsx', 'pdf']);
  formats.add([]);
  expect(() => formats.add(['mt940'])).toThrow('a plugin adds formats after they were read');
  expect(formats.all()).toEqual(['csv', 'xlsx', 'pdf']);
});
