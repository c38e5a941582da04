/**
 * How long the other collector took, counted in buckets a fifth apart, so that a month of them is
 * some dozens of numbers.
 *
 * What must stay true: a quantile is right to a fifth.
 */

const STEP = 1.2

/** The bucket of a lag in milliseconds; all up to one are in the first. */
export function lagBucket(lagMs: number): string {
  return String(lagMs <= 1 ? 0 : Math.ceil(Math.log(lagMs) / Math.log(STEP)))
}

/** Milliseconds; null when none was counted. */
export function quantile(counts: Readonly<Record<string, number>>, share: number): number | null {
  const buckets = Object.entries(counts).sort(([a], [b]) => Number(a) - Number(b))
  const all = buckets.reduce((sum, [, count]) => sum + count, 0)
  let before = 0
  for (const [bucket, count] of buckets) {
    before += count
    if (before >= share * all) return bucket === '0' ? 0 : Math.round(STEP ** Number(bucket))
  }
  return null
}
