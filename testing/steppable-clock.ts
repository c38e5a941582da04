/**
 * Loaded first into a process (`node --import`), lets a test set that process' wall clock forward
 * by 65 minutes: each SIGUSR2 does, and its address with `?ahead` does so from the start. As an
 * administrator sets a machine's.
 *
 * What must stay true: the monotonic clock, and the clock of every other process, are left alone.
 */
const realNow = Date.now
const STEP_MS = 65 * 60_000
let aheadMs = import.meta.url.endsWith('?ahead') ? STEP_MS : 0

Date.now = () => realNow() + aheadMs

process.on('SIGUSR2', () => {
  aheadMs += STEP_MS
})
