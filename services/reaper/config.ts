/**
 * Every bound and wait of the reaper, with its reason.
 *
 * What must stay true: nothing here can make a call less guarded; it changes only how many, how
 * soon and for how long.
 *
 * Not here: the source of the values (main.ts), the time limit of one HTTP exchange (the cluster's
 * adapter).
 */
import { GETS_OF_A_NAMESPACE } from '../../core/model/constant.ts'
import type { Mode } from '../../core/model/policy.ts'

export interface ReaperConfig {
  /** The stricter of this and a command's own mode counts. */
  readonly mode: Mode
  /** Finalizers of others that an order may have it remove. */
  readonly mayRemove: readonly string[]
  /**
   * A command counts from its append time; the fold waits this long, and a margin, before it asks
   * again.
   */
  readonly commandLifeMs: number
  /**
   * After a start commands wait this long for their cluster's watcher to connect. If they were
   * refused at each start, the rest of a cascade would wait twice as long each time.
   */
  readonly firstContactMs: number
  /**
   * An owner that waits or orphans is verified again when its deletion, or the event that decided
   * the command, is older than this: another propagation policy may have been requested since.
   */
  readonly waitingProofAfterMs: number
  /**
   * Any other owner is verified again, too, when the deciding event is older than this: no cluster
   * is restored within it, not even one that got no call meanwhile.
   */
  readonly goneProofAfterMs: number
  /**
   * One live GET of an owner serves all commands within this time, counted from when the GET was
   * sent.
   */
  readonly ownerProofMs: number
  /** The same of a policy of the cluster: one that is deleted or edited has effect within it. */
  readonly policyProofMs: number
  /** Policies of a cluster that are remembered; the fold has no more of one cluster in force. */
  readonly policyProofs: number
  /** How often the status of policies is written, where it is another by now. */
  readonly policyStatusEveryMs: number
  /** Live GETs of owners that are remembered; the oldest are forgotten. */
  readonly ownerProofs: number
  /**
   * An owner that exists and was claimed to be deleted is published once in this time, for
   * whichever command: each such event may cause a relist of its kind.
   */
  readonly foundAgainMs: number
  /**
   * The identity of an endpoint was proven within 30 s of any call (I7); live GETs of owners come
   * in between.
   */
  readonly identityProofMs: number
  /**
   * A failed proof of identity is valid this long, so a backlog does not ask once per command;
   * before it fails it is retried for as long at most.
   */
  readonly identityRetryMs: number
  /**
   * See lock.ts: three calls for each try, and one that is taken away is noticed within a minute.
   */
  readonly lockCheckMs: number
  readonly lockRetryMs: number
  readonly lockProofMs: number
  readonly lockTryMs: number
  /**
   * Calls in flight per cluster: the first limit, and the largest. 32 saturate a server on two
   * cores. Half as many may be added for other kinds than one that hangs (backlog.ts).
   */
  readonly startConcurrency: number
  readonly maxConcurrency: number
  /**
   * Latency holds while at least half of the answers take less than this. Not a mean: a few hanging
   * webhooks prove nothing about the server.
   */
  readonly slowMs: number
  /** Further tries after 429, 5xx, a cut or a timeout. */
  readonly retries: number
  /** Wait before the first of them, then doubling, each cut by up to half at random. */
  readonly retryBaseMs: number
  /** A server that asks for a longer wait gets it: the command settles as blocked. */
  readonly retryAfterCapMs: number
  /**
   * How often a command passes the gate again with a newer version of an unchanged object: often
   * enough for one that a client keeps writing to (B39; upstream drops the version from its second
   * try, and with it the guard against an adoption in between).
   */
  readonly conflicts: number
  /** Unsettled commands of a partition that are kept in memory, and of one namespace at least. */
  readonly window: number
  readonly few: number
  /** Commands of a partition between the oldest unsettled one and the newest read. */
  readonly reach: number
  /**
   * Bytes of the metadata of a committed offset. Ranges beyond it are left out, and those commands
   * carried out twice. The log accepts 64 KiB.
   */
  readonly detailBytes: number
  /** Entries per read: they are decoded without a pause, in some 5 ms. */
  readonly page: number
  /** How long a read waits for the first entry. */
  readonly pollMs: number
  /** The same of `control`. */
  readonly controlPollMs: number
  /**
   * A state read from `control` longer ago no longer counts: a pause takes effect within that time,
   * also when it cannot be read (I13).
   */
  readonly controlFreshMs: number
  /**
   * Results are gathered this long, so a cascade costs few appends; no caller waits for one result.
   */
  readonly gatherMs: number
  /**
   * Answers of live GETs are gathered this long after the last append, unless so many wait: see
   * outbox.ts.
   */
  readonly gatherAnswersMs: number
  /**
   * As many as a namespace may have under way: then no further one comes before these are appended.
   */
  readonly answersPerAppend: number
  /** Results per append. */
  readonly resultsPerAppend: number
  readonly saveEveryMs: number
  /**
   * At a stop, how long calls in flight and results not yet appended may take. Calls that are cut
   * are carried out again later.
   */
  readonly drainMs: number
  /** Wait after a failed call to the log, doubling up to the second figure. */
  readonly logRetryMs: number
  readonly logRetryMaxMs: number
}

export const DEFAULT_REAPER_CONFIG: ReaperConfig = {
  mode: 'enforce',
  mayRemove: [],
  commandLifeMs: 600_000,
  firstContactMs: 30_000,
  waitingProofAfterMs: 2_000,
  goneProofAfterMs: 5_000,
  ownerProofMs: 2_000,
  ownerProofs: 10_000,
  policyProofMs: 5_000,
  policyProofs: 1_000,
  policyStatusEveryMs: 5_000,
  foundAgainMs: 5 * 60_000,
  identityProofMs: 25_000,
  identityRetryMs: 1_000,
  lockCheckMs: 60_000,
  lockRetryMs: 10_000,
  lockProofMs: 180_000,
  lockTryMs: 10_000,
  startConcurrency: 8,
  maxConcurrency: 32,
  slowMs: 250,
  retries: 3,
  retryBaseMs: 100,
  retryAfterCapMs: 5_000,
  conflicts: 40,
  window: 10_000,
  few: 50,
  reach: 200_000,
  detailBytes: 60_000,
  page: 250,
  pollMs: 5_000,
  controlPollMs: 500,
  controlFreshMs: 2_000,
  gatherMs: 2,
  gatherAnswersMs: 100,
  answersPerAppend: GETS_OF_A_NAMESPACE,
  resultsPerAppend: 500,
  saveEveryMs: 1_000,
  drainMs: 3_000,
  logRetryMs: 100,
  logRetryMaxMs: 5_000,
}
