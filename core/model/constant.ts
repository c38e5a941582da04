/**
 * The constants a verdict depends on. What must stay true: a change here is a new `FOLD_VERSION`,
 * since old logs would fold differently.
 */

/**
 * The limits of one record, since it is committed in one turn of the event loop: keys of the agenda
 * that it reads, a page at a time, and owner references that it judges.
 */
export const KEYS_PER_RECORD = 512
export const KEYS_PER_PAGE = 64
/** A page with fewer keys costs as much as so many. */
export const KEYS_OF_A_READ = 8
export const REFERENCES_PER_RECORD = 1_024
/**
 * Judging so many is the price of a turn of a namespace: one that had more judged leaves as many
 * turns to others.
 */
export const REFERENCES_OF_A_TURN = 512
/** Between two steps, so many turns are passed on because their lanes owe them. */
export const TURNS_PASSED_ON = 64
/**
 * Owners of one object that are verified when it is judged: the others in turns of its namespace's
 * live GETs.
 */
export const LOOKED_UP_AT_ONCE = 16
/** References of one object that such a turn looks at. */
export const LOOKED_AT_IN_A_TURN = 64
/**
 * Live GETs of owners that may be under way for the objects of one namespace: as many as a reaper
 * has calls under way, so that others wait behind no more answers than these.
 */
export const GETS_OF_A_NAMESPACE = 32
/**
 * An object with more references is judged once, in its namespace's turn, however many of its
 * owners changed: otherwise judging it costs as much for each of them.
 */
export const REFERENCES_AT_ONCE = 8
/**
 * An object with more references is judged at `Continue` only, after everything published
 * meanwhile: once, however many of its owners changed.
 */
export const REFERENCES_OF_NEWS = 128

/** A kind without a proof of life for longer is out of sync. */
export const KIND_SILENT_MS: number = 3 * 60_000
/**
 * Before what nothing uses is deleted, the watch of each kind that may use it has shown life within
 * this time. A server sends a bookmark each minute, so one in which nothing happens does; half a
 * minute is for the bookmark to come. A watch that hangs counts as live for no longer.
 */
export const KIND_FRESH_MS = 90_000
/**
 * A cluster of which owners are named in another one is not followed any more once nothing was
 * published about it for this time. Each minute it is.
 */
export const ELSEWHERE_FRESH_MS = 180_000
/** Where more objects of a namespace name owners in other clusters nothing is known of any. */
export const MOST_NAMERS = 5_000
/** So few that they count again: one more and one less at the bound judges none anew. */
export const FEW_NAMERS = 4_000
/** How long references wait for their owner's kind to get in sync before it is asked by GET. */
export const KIND_PATIENCE_MS = 30_000

/**
 * How long a command may be carried out, and how much longer the fold waits before it asks again.
 */
export const COMMAND_LIFE_MS: number = 10 * 60_000
export const COMMAND_MARGIN_MS = 60_000

/**
 * More owner references than this are a long list: nearly no object has them. Others are written
 * whole everywhere.
 */
export const LONG_LIST = 64

/** Wait after stale or blocked: doubling between these. */
export const BACKOFF_FIRST_MS = 1_000
export const BACKOFF_LAST_MS: number = 10 * 60_000

/**
 * How often a command whose effect was undone by another actor is carried out again without a wait.
 */
export const FREE_REPEATS = 3

/**
 * A command that was carried out and that no watch has confirmed for longer is verified by a live
 * GET, later where its watch delivers other objects; and relisted after `RELIST_MS`.
 */
export const CONFIRM_MS = 3_000
export const CONFIRM_LATE_MS = 30_000
export const RELIST_MS: number = 2 * 60_000

/**
 * How long after a watcher's start no finalizer is removed: events of the meantime are published
 * within that time, by one watch sooner than by another.
 */
export const CATCH_UP_MS = 10_000

/**
 * A watch that was silent goes on where it was, or lists its kind, within this time: a use may have
 * been missed by the one and not by the other.
 */
export const SILENCE_CLEARED_MS = 600_000

/**
 * How long a deleted owner's information for its dependents is remembered, and then for as long as
 * an edge to it remains: a policy may not shorten it (`memoryMs`).
 */
export const MEMORY_MS: number = 30 * 24 * 3_600_000

/** How often it is checked whether an owner past that time is still referenced. */
export const FORGET_AGAIN_MS: number = 24 * 3_600_000

/**
 * Missing from one relist: more than this share of a kind, and more than this many, is a bulk
 * deletion.
 */
export const MASS_SHARE = 0.3
export const MASS_COUNT = 100

/**
 * For how long the dependents of a deletion by others may begin to be deleted, once that is
 * counted.
 */
export const LEASE_MS = 60_000
/**
 * Minutes, the present one included, whose deletions the budget counts: any ten minutes, and the
 * minute within which it was leased.
 */
export const BUDGET_MINUTES = 12
/** So many namespaces of a minute are counted apart. */
export const NAMESPACES_COUNTED = 64

/**
 * Deletions by rules that may be under way in a cluster. A cascade beside them waits behind no more
 * than these, in the log of commands as at the server.
 */
export const DELETIONS_BY_RULES = 128
/** So many turns become free before others are called, or all of them. */
export const FREED_BEFORE_A_CALL = 8
/** Of those that wait so many are read at once. */
export const TURNS_PER_PAGE = 16

/**
 * More than so many times a budget, and at least so many, requested within ten minutes are no
 * ordinary day.
 */
export const BURST_TIMES = 3
export const BURST_LEAST = 100
/** Of so many commands of a minute, and more, most must not be refused. */
export const REFUSED_LEAST = 20

/** How long it is remembered that a namespace was terminating, after it was deleted. */
export const ENDED_MEMORY_MS: number = 10 * 60_000

/** For how long an approval is valid. */
export const APPROVAL_MS: number = 60 * 60_000

/** In `guarded`, for how long protection counts after it was revoked. */
export const PROTECTED_FOR_MS: number = 10 * 60_000

/**
 * If a kind leaves discovery this soon after an owner of it was deleted, the owner was deleted with
 * its kind; so many of these times are remembered for a kind.
 */
export const KIND_CAUSE_MS: number = 10 * 60_000
export const KINDS_GONE_REMEMBERED = 16

/**
 * In `guarded`, an object that first references its owner this much later than the owner's deletion
 * was observed is no part of that cascade: a controller may not have observed the deletion for a
 * moment.
 */
export const LATE_MS = 1_000

/**
 * How much later the watch of a kind may publish the deletion of its objects than the watch of
 * CustomResourceDefinitions publishes what caused it: a watch that is silent for longer is out of
 * sync.
 */
export const DEFINITION_LATE_MS: number = KIND_SILENT_MS

/** Of a sighting that no epoch of its cluster confirms any longer. */
export const NO_CLUSTER_EPOCH = -1

/**
 * Until a found owner is asked for again: no monitor will report its deletion, so the waits begin
 * longer than after a refusal.
 */
export function foundWaitMs(times: number): number {
  return backoffMs(times + 5)
}

export function backoffMs(count: number): number {
  return Math.min(BACKOFF_LAST_MS, BACKOFF_FIRST_MS * 2 ** Math.min(count - 1, 20))
}
