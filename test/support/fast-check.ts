/** Properties draw from one seed, so that a failed run fails again. DAYBOOK_TEST_SEED sets another one. */
import fc from 'fast-check';

const SEED = 2404;

fc.configureGlobal({ seed: Number(process.env['DAYBOOK_TEST_SEED'] ?? SEED) });
