/**
 * Every bound and period of the watcher, named.
 *
 * What must stay true: nothing in this service waits, retries, gathers or remembers without a bound
 * in this file.
 */
export interface WatcherConfig {
  /** Kinds to watch, as `deployments.apps`; null: all that the cluster serves. */
  readonly kinds: readonly string[] | null
  /** Kinds to leave out, the same way, beside `IGNORED_KINDS`. */
  readonly ignoreKinds: readonly string[]
  /** Of these only what the account may list and watch. */
  readonly onlyAllowed: boolean
  /** Objects requested at once: some 0.5 MB of answer, and some 10 ms of work without a pause. */
  readonly listPageSize: number
  /**
   * Kinds listed at the same time: more would only wait for each other in the server's priority
   * levels.
   */
  readonly concurrentLists: number
  /** A list that brings no page for this long is given up. */
  readonly listStallMs: number
  /**
   * A watch without event or bookmark for this long is dead, whatever the connection says (F1).
   * Servers send bookmarks each minute.
   */
  readonly watchSilenceMs: number
  /**
   * For how long the deletions that a list found missing are looked for among the server's former
   * events, where their last state is archived.
   */
  readonly unlistedMs: number
  /** A watch that ends sooner is not opened again at once (F2). */
  readonly watchShortMs: number
  /**
   * After so many watches in a row without event or bookmark the kind is relisted: some servers
   * never answer 410 (F4).
   */
  readonly fruitlessWatches: number
  /**
   * First wait after a failure; it doubles, with jitter, up to the longest. The same as the
   * collector's own reflectors.
   */
  readonly backoffMinMs: number
  readonly backoffMaxMs: number
  /** After so long without failures, waits begin at the shortest again. */
  readonly backoffResetMs: number
  /** A Retry-After is honoured up to here. */
  readonly retryAfterMaxMs: number
  /**
   * A list is taken twice if it misses more than this share of what was held, and more than this
   * many objects; or is empty (F14).
   */
  readonly shrinkShare: number
  readonly shrinkObjects: number
  /** Between two requests for discovery. */
  readonly discoveryMs: number
  readonly discoveryTimeoutMs: number
  /** Rights asked about at the same time. */
  readonly concurrentReviews: number
  /** A kind that the account may not watch is asked about again after so long. */
  readonly deniedMs: number
  /**
   * A kind is absent from discovery when it is missing from two answers at least so far apart
   * (F22).
   */
  readonly confirmGoneMs: number
  /** For how long a kind that left discovery may still deliver the events of its open watch. */
  readonly drainMs: number
  /** Between two heartbeats; each one begins with a check of the cluster's identity. */
  readonly heartbeatMs: number
  /** The same while the cluster is not connected. */
  readonly doubtMs: number
  readonly identifyTimeoutMs: number
  /** Without contact for this long the cluster counts as not connected. */
  readonly contactLostMs: number
  /**
   * After so long the state of the connection is published to `control` again: the topic may have
   * lost it (F39).
   */
  readonly connectionRepeatMs: number
  /** Each kind is relisted once in this time, in turn (F5). */
  readonly antiEntropyMs: number
  /**
   * Between two comparisons of the cluster's assignment in `control`, and of its count of objects,
   * with the actual ones.
   */
  readonly assignmentMs: number
  /**
   * How often a choice is repeated at most if another cluster's record came before, each time after
   * a random wait of up to this.
   */
  readonly assignmentRounds: number
  readonly assignmentSpreadMs: number
  /**
   * Between two lists of a kind since policies have something else read of it; and at least so many
   * times as long as its last list took.
   */
  readonly rereadMs: number
  readonly rereadShare: number
  /** For how long all other kinds wait for the first list of policies. */
  readonly policiesFirstMs: number
  /** Between two reads of the relist requests, and of the orders, at least. */
  readonly controlPollMs: number
  /** How long such a read waits for the first record: over Kafka each is a request of a cluster. */
  readonly controlWaitMs: number
  /** Requests read at once. */
  readonly controlPage: number
  /** Between two looks at the log of clusters in which objects of this one have owners. */
  readonly elsewhereMs: number
  /** How long a list of the objects that may name such owners may take. */
  readonly rollCallMs: number
  /** How long entries of `Touched` are gathered. */
  readonly touchedMs: number
  /** Entries in one `Touched`: some 40 KB. */
  readonly touchedEntries: number
  /** Between two writings of watermarks. */
  readonly watermarkMs: number
  /** Records and bytes in one append. */
  readonly appendRecords: number
  readonly appendBytes: number
  /** How much may wait to be appended before watches and lists are no longer read. */
  readonly queuedRecords: number
  readonly queuedBytes: number
  /** First and longest wait before an append that did not get through is made again. */
  readonly appendRetryMinMs: number
  readonly appendRetryMaxMs: number
  /** Between two checks whether this process slept. */
  readonly awakeMs: number
  /**
   * A process that slept, or read nothing, for this long may be behind; and for how long after that
   * it may still read old input.
   */
  readonly behindMs: number
  readonly catchUpMs: number
  /** Deleted uids remembered for each cluster, the oldest are forgotten first: some 15 MB. */
  readonly deletedUids: number
  /** How long a stopping watcher may take to append its gathered records. */
  readonly stopMs: number
}

/**
 * Where watchers of a cluster elect one: a namespace that every cluster has, so nothing has to be
 * made for it.
 */
export const LEASE: { readonly namespace: string; readonly name: string } = {
  namespace: 'kube-system',
  name: 'kinfold-watcher',
}

/** Never watched: upstream's default for its ignored resources. */
export const IGNORED_KINDS: readonly string[] = ['events', 'events.events.k8s.io']

const SECOND = 1_000
const MINUTE = 60 * SECOND
const KIB = 1_024

export const DEFAULT_CONFIG: WatcherConfig = {
  kinds: null,
  ignoreKinds: [],
  onlyAllowed: false,
  listPageSize: 500,
  concurrentLists: 4,
  listStallMs: MINUTE,
  watchSilenceMs: 3 * MINUTE,
  unlistedMs: 5 * SECOND,
  watchShortMs: 5 * SECOND,
  fruitlessWatches: 3,
  backoffMinMs: 800,
  backoffMaxMs: 30 * SECOND,
  backoffResetMs: 2 * MINUTE,
  retryAfterMaxMs: 5 * MINUTE,
  shrinkShare: 0.3,
  shrinkObjects: 100,
  discoveryMs: 30 * SECOND,
  discoveryTimeoutMs: 30 * SECOND,
  concurrentReviews: 8,
  deniedMs: MINUTE,
  confirmGoneMs: 3 * SECOND,
  drainMs: 2 * SECOND,
  heartbeatMs: 5 * SECOND,
  doubtMs: SECOND,
  identifyTimeoutMs: 4 * SECOND,
  contactLostMs: 15 * SECOND,
  connectionRepeatMs: MINUTE,
  antiEntropyMs: 60 * MINUTE,
  assignmentMs: MINUTE,
  assignmentRounds: 20,
  assignmentSpreadMs: 500,
  rereadMs: 60_000,
  rereadShare: 10,
  policiesFirstMs: 10_000,
  controlPollMs: 500,
  controlWaitMs: 5_000,
  controlPage: 200,
  elsewhereMs: 10 * SECOND,
  rollCallMs: 10 * MINUTE,
  touchedMs: 1_500,
  touchedEntries: 500,
  watermarkMs: 5 * SECOND,
  appendRecords: 500,
  appendBytes: 512 * KIB,
  queuedRecords: 10_000,
  queuedBytes: 16 * KIB * KIB,
  appendRetryMinMs: 100,
  appendRetryMaxMs: 5 * SECOND,
  awakeMs: SECOND,
  behindMs: 2 * SECOND,
  catchUpMs: MINUTE,
  deletedUids: 100_000,
  stopMs: 5 * SECOND,
}
