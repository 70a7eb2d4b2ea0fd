/** Keeps the process small: what V8 would take by itself is ten times what daybook holds, and makes nothing faster. */
import { setFlagsFromString } from 'node:v8';

/** Share by which the old generation may outgrow what lives in it before garbage is collected. */
const HEAP_GROWING_PERCENT = 150;

/**
 * Leaves V8's young generation as large as loading the program has made it (16 MB a half, where it would go on to 64),
 * and lets garbage be collected sooner. A large day then takes some 200 MB instead of 400. To be called once, when
 * everything is loaded.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--semi-space-growth-factor=1');
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
}
