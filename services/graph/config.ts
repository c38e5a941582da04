/** Bounds of the graph service: each says what it limits and why it is what it is. */
import type { Waits } from '../../runtime/retry.ts'

/** Events read at once. */
export const READ_LIMIT = 2_000
/**
 * How long a read waits for the first record, after one that found some and after one that found
 * none; a stop is noticed at once all the same. Over Kafka each is a request of every partition.
 */
export const READ_WAIT_MS = 1_000
export const IDLE_WAIT_MS = 5_000
/**
 * Keys of the store counted between two reads when a task begins, and how long such a read waits: a
 * thousand a second when there is nothing else to do.
 */
export const COUNT_KEYS = 200
export const COUNT_WAIT_MS = 200
/** An object that exists so long after its deletion was asked for, and its grace, is reported. */
export const OVERDUE_MS = 600_000
/** How often the log is asked for its end, so that a process that lags knows. */
export const END_EVERY_MS = 1_000
/** A commit holds no more records and changed keys than these. */
export const BATCH_RECORDS = 2_000
export const BATCH_KEYS = 4_000
/** How often a task commits: what a commit costs is the log's. */
export interface Pace {
  /**
   * A commit gathers what is there for no longer: its first record waits for the last one. Other
   * tasks of the process fold in that time, too.
   */
  readonly batchMs: number
  /**
   * After a commit that took all there was, the next one waits so long for more; the first after a
   * silence does not wait.
   */
  readonly gatherMs: number
  /**
   * Heartbeats alone wait so long for others, and for no longer once anything else is there: what
   * is due by the clock of the log is due so much later. A cluster has one every five seconds.
   */
  readonly quietMs: number
}
/** A log in the same process: a commit is a write to one file. */
export const NEAR: Pace = { batchMs: 40, gatherMs: 0, quietMs: 0 }
/**
 * A log on other machines: a commit is three requests and a marker in every partition that it wrote
 * to, which is most of its cost. Only a task that lags gathers for so long, and tasks share the
 * time: eight of a process fold for an eighth of it each.
 */
export const FAR: Pace = { batchMs: 500, gatherMs: 50, quietMs: 2_500 }
/**
 * After folding for so long the event loop gets a turn: calls under way are answered and new ones
 * sent meanwhile.
 */
export const TURN_MS = 4
/**
 * Changelog entries of one write to the store while restoring: all tasks do at once, and what each
 * has in hand is what the collector copies.
 */
export const RESTORE_LIMIT = 256
/**
 * By the clock on the wall, between two pages of a changelog. Null values are kept for a day at
 * least.
 */
export const STILL_MS = 21_600_000
/**
 * Commits of a task that one write to its store holds at most, and their bytes, and for how long
 * the first waits for others; a task without work writes them at once. After a crash they are
 * replayed.
 */
export const GATHERED_WRITES = 16
export const GATHERED_BYTES: number = 2 * 1024 * 1024
export const GATHERED_MS = 1_000
/** A digest for audits at least every so many records. */
export const DIGEST_RECORDS = 1_000
/**
 * Before a task is taken over again after a failure that may pass; the longest is of a log that
 * cannot be reached, or of a standby.
 */
export const TAKE_OVER_WAITS: Waits = { firstMs: 500, mostMs: 10_000 }
/**
 * A partition that this process is to follow waits until all that it has to answer are answered,
 * for so long at most: reading a changelog from its beginning takes a processor, which is short
 * when another process has just died. How often that is looked at.
 */
export const FIRST_ANSWERED_MS = 10_000
export const FIRST_ANSWERED_STEP_MS = 50
/** Before a task that another process has taken is taken back, if it is still given to this one. */
export const RESIGNED_WAITS: Waits = { firstMs: 1_000, mostMs: 30_000 }
/**
 * Attempts in a row without a single commit, of a log that can be reached; then the process ends
 * and says why.
 */
export const TAKE_OVER_ATTEMPTS = 20
/**
 * Bytes of stored values that all tasks of a process remember together, outside of V8's heap: taken
 * as they are needed, and an eighth more for their index.
 */
export const REMEMBERED_BYTES: number = 32 * 1024 * 1024
/** Decoded values that a task remembers, none of an object for longer than a batch. */
export const DECODED_VALUES = 4_000
/**
 * Owner references of all long lists that a task remembers decoded from one batch to the next: some
 * 10 MB.
 */
export const LONG_LIST_OWNERS = 20_000
/**
 * How long an order is waited for that `orders` does not show yet, and how often it is asked for:
 * brokers may show an older end for a moment after an election.
 */
export const ORDER_WAIT_MS = 10_000
export const ORDER_POLL_MS = 100
/** After one that never came, for how long no other is waited for. */
export const ORDER_REST_MS = 60_000
/**
 * How often `orders` is compared with what the fold holds back; what it lost of that is unknown to
 * reapers that start meanwhile.
 */
export const CONTROL_CHECK_MS = 30_000
/**
 * How often what policies of clusters do is counted, and how many times as long as the last count
 * took it waits at least: many objects must not be counted all the time.
 */
export const POLICY_STATUS_EVERY_MS = 15_000
export const POLICY_STATUS_REST = 20
/** Policies of a cluster that have a status: more than may be in force. */
export const MOST_POLICY_STATUSES = 1_000
/** How often it is checked whether the fold has reached that position. */
export const CONTROL_CATCH_UP_MS = 1_000
