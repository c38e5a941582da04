/**
 * The constants a verdict depends on. What must stay true: a change here is a new `FOLD_VERSION`, since old logs would fold differently.
 */

/** Steps that one record takes from the agenda, and keys that one step looks at: what they bring about is committed in one turn of the event loop. */
export const STEPS_PER_RECORD = 8
export const KEYS_PER_PAGE = 64

/** A kind without a proof of life for longer is out of sync. */
export const KIND_SILENT_MS: number = 3 * 60_000
/** How long references wait for their owner's kind to get in sync before it is asked by GET. */
export const KIND_PATIENCE_MS = 30_000

/** How long a command may be carried out, and how much longer the fold waits before it asks again. */
export const COMMAND_LIFE_MS: number = 10 * 60_000
export const COMMAND_MARGIN_MS = 60_000

/** Wait after stale or blocked: doubling between these. */
export const BACKOFF_FIRST_MS = 1_000
export const BACKOFF_LAST_MS: number = 10 * 60_000

/** How often what was carried out and undone by somebody is carried out again without a wait. */
export const FREE_REPEATS = 3

/** A delete that was carried out and not confirmed by the watch for longer asks for a relist. */
export const CONFIRM_MS: number = 2 * 60_000

/** How soon a partition looks again whether it may ask for, or speak of, an owner that only other partitions name; and at last. */
export const OWNER_RETRY_MS = 5_000
export const OWNER_RETRY_LAST_MS = 60_000

/** How soon after a record that could not be read other partitions are asked to tell again what they told: doubling between these, until none is for the longer one. */
export const RETELL_FIRST_MS = 10_000
export const RETELL_LAST_MS: number = 60 * 60_000

/** How long after a watcher's start no finalizer is taken off: what happened meanwhile is told within that time, one watch sooner than another. */
export const CATCH_UP_MS = 10_000

/** How long it is remembered what an owner that went bears for its dependents, and then for as long as an edge to it remains: a policy may not shorten it (`memoryMs`). */
export const MEMORY_MS: number = 30 * 24 * 3_600_000

/** How often it is looked at whether one that is past its time is still named. */
export const FORGET_AGAIN_MS: number = 24 * 3_600_000

/** Missing from one relist: more than this share of a kind, and more than this many, is a mass cause (E4). */
export const MASS_SHARE = 0.3
export const MASS_COUNT = 100
/** So many relists that missed a mass are remembered of a kind. */
export const MASS_SYNCS_REMEMBERED = 16

/** A token that is not used for longer is void. */
export const GRANT_MS = 60_000
/** How soon a partition asks again for tokens that it has not got. */
export const TOKEN_RETRY_MS = 60_000
/** Minutes, the present one included, whose tokens count: any ten minutes, and the minute within which a token is used. */
export const BUDGET_MINUTES = 12

/** More than so many times a budget, and at least so many, asked to go within ten minutes is no ordinary day. */
export const BURST_TIMES = 3
export const BURST_LEAST = 100
/** Of so many commands of a minute, and more, most must not be refused. */
export const REFUSED_LEAST = 20

/** How long it is known of a namespace that it was being deleted, once it is gone. */
export const ENDED_MEMORY_MS: number = 10 * 60_000

/** How long what a person approved may go. */
export const APPROVAL_MS: number = 60 * 60_000

/** In `guarded`, protection that was taken back counts for so long. */
export const PROTECTED_FOR_MS: number = 10 * 60_000

/** A kind that is served no longer so soon after an owner of it went took it along; so many of these times are remembered of a kind. */
export const KIND_CAUSE_MS: number = 10 * 60_000
export const KINDS_GONE_REMEMBERED = 16

/** How much later the watch of a kind may tell of its objects than that of definitions tells of what took them along: one that is silent for longer is out of sync. */
export const DEFINITION_LATE_MS: number = KIND_SILENT_MS

/** Of a sighting that no epoch of its cluster vouches for any more. */
export const NO_CLUSTER_EPOCH = -1

export function backoffMs(count: number): number {
  return Math.min(BACKOFF_LAST_MS, BACKOFF_FIRST_MS * 2 ** Math.min(count - 1, 20))
}
