/** Bounds of the graph service: each says what it limits and why it is what it is. */

/** Events read at once. */
export const READ_LIMIT = 2_000
/** How long a read waits for the first event; a stop is noticed at once all the same. */
export const READ_WAIT_MS = 1_000
/** How often the log is asked how far it goes, so that one who is behind knows. */
export const END_EVERY_MS = 1_000
/** A commit holds no more records, changed keys or milliseconds than these: an open transaction holds back readers. */
export const BATCH_RECORDS = 2_000
export const BATCH_KEYS = 4_000
export const BATCH_MS = 40
/** After folding for so long the event loop gets a turn: calls under way are answered and new ones sent meanwhile. */
export const TURN_MS = 4
/** Changelog entries of one write to the store while restoring. */
export const RESTORE_LIMIT = 2_000
/** A store that is further behind is built again: compaction keeps tombstones for a day, and half of that is left for clocks and for reading. */
export const STORE_AGE_MS: number = 12 * 3_600_000
/** A digest for audits at least every so many records. */
export const DIGEST_RECORDS = 1_000
/** Wait before a task is taken over again after a failure that may pass. */
export const TAKE_OVER_WAIT_MS = 500
/** The longest such wait, of a log that cannot be reached or of a standby. */
export const TAKE_OVER_WAIT_MOST_MS = 10_000
/** Wait before a task that another process has taken is taken back, if it is still given to this one; doubled to the longest each time. */
export const RESIGNED_WAIT_MS = 1_000
export const RESIGNED_WAIT_MOST_MS = 30_000
/** Attempts in a row without a single commit; then the process ends and says why. */
export const TAKE_OVER_ATTEMPTS = 20
/** Decoded values that are remembered, twice as many at most: some 5 MB, and nearly all that a fold reads again soon. */
export const DECODED_VALUES = 1_500
/** Nodes remembered beside them while a command of theirs is under way: some 4 MB, gone when the cascade is. */
export const AWAITED_NODES = 4_000
