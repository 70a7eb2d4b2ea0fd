import undici from 'undici';
const events = [];
const orig = undici.Pool.prototype.dispatch;
undici.Pool.prototype.dispatch = function (opts, handler) {
  events.push([performance.now(), 1]);
  const end = handler.onResponseEnd;
  handler.onResponseEnd = function (...a) { events.push([performance.now(), -1]); return end.apply(this, a); };
  return orig.call(this, opts, handler);
};
process.on('exit', () => {
  const t0 = events[0][0]; const buckets = []; let n = 0; let last = t0;
  const area = new Map();
  for (const [t, d] of events) { for (let b = Math.floor((last - t0) / 100); b <= Math.floor((t - t0) / 100); b++) { const from = Math.max(last, t0 + b * 100), to = Math.min(t, t0 + (b + 1) * 100); if (to > from) area.set(b, (area.get(b) ?? 0) + n * (to - from)); } n += d; last = t; }
  process.stderr.write([...area].map(([b, a]) => (a / 100).toFixed(0)).join(' ') + '\n');
});
