import { expect, test } from 'vitest';
import { isLoopback } from '../../src/host/addresses.ts';

test.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.255.1.9', '::1', '[::1]'])(
  '%s is this machine',
  (host) => {
    expect(isLoopback(host)).toBe(true);
  },
);

test.each([
  '',
  'db.localhost',
  'localhost.',
  'localhost.example',
  '127.0.0.256',
  '127.1',
  '127.0.0.1.example',
  '128.0.0.1',
  '0.0.0.0',
  '[::]',
  '[fd00::1]',
  '10.0.0.1',
])('%s may be another machine', (host) => expect(isLoopback(host)).toBe(false));
