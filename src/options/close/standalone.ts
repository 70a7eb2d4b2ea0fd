/** What `verify.mjs` has of this option, in place of its value. */
import type { Option } from '../option.ts';
import { createCloseCheck } from './verify.ts';

export const close: Option = {
  name: 'close',
  about: 'checking closed months',
  closeCheck: () => Promise.resolve(createCloseCheck()),
};
