/**
 * Port: time. Guarantees: `sleep` ends early, quietly, when its signal aborts. Assumes: wall time
 * is for people and logs; waits are measured with `monotonicMs`.
 */
export interface Clock {
  /** Wall time in whole milliseconds since 1970. */
  now(): number
  /** Never goes back; its zero has no meaning. */
  monotonicMs(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}
