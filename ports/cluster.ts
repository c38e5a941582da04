/**
 * Port: one Kubernetes-style cluster, in the few calls Kinfold makes. Every answer is a named case,
 * decided once, here below.
 *
 * Guarantees: `Absent` is only an answer that proves an absence (I5); a list is complete and
 * consistent or it throws; a watch ends or throws, it never skips; objects are within the caps of
 * core/model/cap.ts. Every mutating call carries its guard and an explicit policy (I4), but the
 * probe of the lock, which is a dry run. Assumes: nothing about retries: a call is one exchange,
 * callers retry.
 *
 * Not here: sockets (exchange.ts), the use of an answer (services).
 */
import type { Target } from '../core/model/command.ts'
import type {
  ClusterId,
  ObjectMeta,
  PropagationPolicy,
  ResourceVersion,
  Scope,
  Uid,
} from '../core/model/object.ts'
import type { Projection } from './record/projection.ts'

export interface DiscoveredKind {
  readonly group: string
  readonly kind: string
  readonly resource: string
  readonly scope: Scope
  /** Preferred first. */
  readonly versions: readonly string[]
  /** Verbs of the preferred version. */
  readonly verbs: readonly string[]
  /** An aggregated server serves it, or it is unknown whether one does. */
  readonly aggregated: boolean
  /** Another resource of the group has the same kind. */
  readonly ambiguous: boolean
  readonly shortNames: readonly string[]
}

export interface Discovery {
  readonly kinds: readonly DiscoveredKind[]
  /** `group/version`s that could not be read: their known state does not change. */
  readonly failed: readonly string[]
  /**
   * False: it may not be read which server serves which group, so every kind counts as aggregated.
   */
  readonly isAggregationKnown: boolean
}

/** The parameters of a list or watch; the version is the one to ask for. */
export interface Resource {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  readonly scope: Scope
}

export interface Watched extends Resource {
  /**
   * Deletions are reported with the whole object, as far as the server sends it; of all else no
   * body is returned in any case.
   */
  readonly whole?: boolean
}

/** One object, which need not exist. */
export interface NamedResource extends Resource {
  readonly namespace: string
  readonly name: string
}

/** Part of a collection. */
export interface Selection {
  /** Empty: all. */
  readonly namespace: string
  /** A label selector, as the API server reads it. */
  readonly labels: string
}

export interface ListPage {
  readonly objects: readonly ObjectMeta[]
  /** Of the whole list; the same on all of its pages. */
  readonly resourceVersion: ResourceVersion
  /** More pages follow. */
  readonly more: boolean
  /** As the server says; null when it does not. */
  readonly remaining: number | null
}

export type WatchEvent =
  | { readonly type: 'Added'; readonly object: ObjectMeta }
  | { readonly type: 'Modified'; readonly object: ObjectMeta }
  | {
      readonly type: 'Deleted'
      readonly object: ObjectMeta
      /**
       * Of a whole watch: JSON that has the object's last state, of its own kind, under `object`.
       */
      readonly text?: string
    }
  | { readonly type: 'Bookmark'; readonly resourceVersion: ResourceVersion }

export type GetAnswer =
  | { readonly type: 'Found'; readonly object: ObjectMeta; readonly code: number }
  | AbsentAnswer
  | UnknownAnswer

/**
 * As `GetAnswer`, with the whole object as the server sent it: JSON of its own kind, never metadata
 * alone.
 */
export type ReadAnswer =
  | {
      readonly type: 'Found'
      readonly object: ObjectMeta
      readonly text: string
      readonly code: number
    }
  | AbsentAnswer
  | UnknownAnswer

/**
 * A Status with reason NotFound whose details name exactly the requested object; or no object of
 * that kind can have that name.
 */
export interface AbsentAnswer {
  readonly type: 'Absent'
  readonly code: number
}

/** Anything that proves nothing. */
export interface UnknownAnswer {
  readonly type: 'Unknown'
  readonly code: number | null
  readonly reason: string
  /** A later try may do better (429, 5xx, cut, timeout, 401). */
  readonly transient: boolean
  readonly retryAfterMs: number | null
}

export type ReapAnswer =
  /**
   * DELETE: 2xx with a Status, or with an object that no finalizer or grace period holds: it is
   * removed.
   */
  | { readonly type: 'Removed'; readonly code: number }
  /** 2xx with the object: a patch took, or a DELETE waits for finalizers or grace. */
  | { readonly type: 'Changed'; readonly object: ObjectMeta; readonly code: number }
  /** Dry run: 2xx. */
  | { readonly type: 'WouldGo'; readonly code: number }
  | AbsentAnswer
  /** 409; on a patch also 422 without causes: a test failed. Read again. */
  | { readonly type: 'Conflict'; readonly code: number; readonly reason: string }
  /** 422 with causes, 403, webhook or policy. */
  | { readonly type: 'Refused'; readonly code: number; readonly reason: string }
  /** 429, 5xx, cut, timeout: its outcome is unknown. */
  | UnknownAnswer

/** Whether the cluster itself refuses Kinfold's account what it must never do. */
export type LockAnswer =
  /** It refused the probe, in the lock's own words. */
  | { readonly type: 'Locked' }
  /** It does not, or there is nothing to try it on. */
  | { readonly type: 'Open'; readonly reason: string }
  /** Anything that shows neither. */
  | { readonly type: 'Unknown'; readonly reason: string }

export interface DeleteOptions {
  readonly uid: Uid
  readonly resourceVersion: ResourceVersion
  readonly propagationPolicy: PropagationPolicy
  /** In seconds; undefined and null for the server's default. */
  readonly gracePeriodSeconds?: number | null
  readonly dryRun: boolean
  readonly auditId?: string
  /**
   * By whose rights the server decides: a service account, as it calls it. Left out: ours. We need
   * the right to impersonate it.
   */
  readonly as?: string
}

/** A change of an object as it was read: both preconditions, and what is merged into it. */
export interface MergeOptions
  extends Pick<DeleteOptions, 'uid' | 'resourceVersion' | 'dryRun' | 'auditId' | 'as'> {
  /** RFC 7386. */
  readonly change: MergeChange
}

/** Annotations alone, or the status alone. */
export type MergeChange =
  | { readonly annotations: Readonly<Record<string, string>> }
  | { readonly status: Readonly<Record<string, unknown>> }

/** RFC 6902, the kinds of operations we send. `path` is a JSON pointer. */
export type PatchOperation =
  | { readonly op: 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'add'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }

/** A Kubernetes Event. */
export interface ClusterEvent {
  readonly type: 'Normal' | 'Warning'
  /** In CamelCase. */
  readonly reason: string
  readonly message: string
}

/** The Lease with the starts of data directories: a namespace that every cluster has. */
export const STARTS = { namespace: 'kube-system', name: 'kinfold-data' } as const

/** Which starts of data directories delete in a cluster: kept in the cluster itself. */
export interface KnownStarts {
  readonly entries: Readonly<Record<string, string>>
  /** The object as it was read; null where there was none. Of use to `writeStarts` alone. */
  readonly read: unknown
}

export interface Cluster extends AsyncDisposable {
  /** The configured name: a label. */
  readonly name: string
  /**
   * From here on objects are returned with these labels and annotations, those under way included;
   * before that, with those that may protect them. Of kinds that rules read fields of, objects are
   * asked for whole and returned with those fields; one that came without its body, since it was
   * asked for before, has no `projected`.
   */
  project(projection: Projection): void
  /**
   * The same cluster over the same connections, with a projection of its own: a watcher and a
   * reaper of one process each read what they need. Closing it closes nothing.
   */
  apart(): Cluster
  /** The uid of kube-system, asked anew each time. */
  identify(signal: AbortSignal): Promise<ClusterId>
  discover(signal: AbortSignal): Promise<Discovery>
  /**
   * Pages of one consistent list; an expired `continue` throws `EXPIRED` and nothing of the list
   * counts. `confirming`: over no connection that carried another list, since the server behind it
   * may be at fault (F14).
   */
  list(
    resource: Resource,
    pageSize: number,
    signal: AbortSignal,
    confirming?: boolean,
  ): AsyncIterable<ListPage>
  /**
   * As `list`, of the objects that are selected alone: one that is missing from it may well exist.
   * `of`: as with `get`; a page of any other cluster throws `UNREACHABLE`. A selector that the
   * server cannot read throws `BAD_REQUEST`.
   */
  select(
    resource: Resource,
    selection: Selection,
    pageSize: number,
    signal: AbortSignal,
    of?: ClusterId,
  ): AsyncIterable<ListPage>
  /** The collection's current version (a list with `limit=1`). */
  currentVersion(resource: Resource, signal: AbortSignal): Promise<ResourceVersion>
  /** With bookmarks, from just after `from`. Ends when the server ends it. */
  watch(
    resource: Watched,
    from: ResourceVersion,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent[]>
  /**
   * `of`: where something rests on the answer, the cluster that it has to be from; of any other it
   * is `Unknown`. `auditId`, here and below: the id of the request in the cluster's audit log.
   */
  get(target: Target, signal: AbortSignal, of?: ClusterId, auditId?: string): Promise<GetAnswer>
  /**
   * The object with its body: for the archive, and for a user who asks for the status of an object.
   * But for whole watches no body is returned by anything else.
   */
  read(target: Target, signal: AbortSignal, of?: ClusterId): Promise<ReadAnswer>
  delete(target: Target, options: DeleteOptions, signal: AbortSignal): Promise<ReapAnswer>
  patch(
    target: Target,
    operations: readonly PatchOperation[],
    dryRun: boolean,
    signal: AbortSignal,
    auditId?: string,
  ): Promise<ReapAnswer>
  /**
   * `Conflict` where the object has another version by now. What is recreated under the name has
   * one, too.
   */
  merge(target: Target, options: MergeOptions, signal: AbortSignal): Promise<ReapAnswer>
  /** In the place of the status that the object has, if it still has that uid. */
  writeStatus(target: Target, status: object, signal: AbortSignal): Promise<ReapAnswer>
  /**
   * About the target, which may be deleted. If the same was written before, `Changed` with that
   * one: the name of an Event follows from its content.
   */
  writeEvent(
    target: Target,
    event: ClusterEvent,
    signal: AbortSignal,
    auditId?: string,
  ): Promise<ReapAnswer>
  /** Whether our account may do this, by SelfSubjectAccessReview. */
  mayI(verb: string, what: Resource | NamedResource, signal: AbortSignal): Promise<boolean>
  /**
   * Our account as the server calls it, by SelfSubjectReview; null where the server does not say.
   */
  whoAmI(signal: AbortSignal): Promise<string | null>
  /**
   * Tries the second lock by calls that it has to refuse, and that have no effect where there is
   * none.
   */
  probeLock(signal: AbortSignal): Promise<LockAnswer>
  /** Throws a `ClusterError`: `FORBIDDEN` where our account may not. */
  readStarts(signal: AbortSignal): Promise<KnownStarts>
  /**
   * In the place of all that were read. False: another client wrote meanwhile, and nothing changed.
   */
  writeStarts(
    read: KnownStarts,
    entries: KnownStarts['entries'],
    signal: AbortSignal,
  ): Promise<boolean>
  /**
   * The server's clock minus ours, in milliseconds, from the Date header of an answer that only the
   * server gives; null when it sends none. Throws a `ClusterError`.
   */
  clockSkewMs(signal: AbortSignal): Promise<number | null>
}

/**
 * - `retry`: after a growing wait. - `relist`: the version is too old. - `give-up`: this kind is
 * not to be had; ask discovery.
 */
export type ClusterRemedy = 'retry' | 'relist' | 'give-up'

export type ClusterErrorCode =
  | 'EXPIRED'
  | 'TOO_NEW'
  | 'NOT_SERVED'
  | 'FORBIDDEN'
  | 'UNAUTHORIZED'
  | 'THROTTLED'
  | 'UNAVAILABLE'
  | 'UNREACHABLE'
  | 'BAD_REQUEST'
  | 'UNREADABLE'
  | 'UNVERSIONED'

const REMEDIES: Readonly<Record<ClusterErrorCode, ClusterRemedy>> = {
  /** 410, or an ERROR event with it. */
  EXPIRED: 'relist',
  /** The requested version lies in the server's future: it may have been restored. */
  TOO_NEW: 'relist',
  /** 404 on a list or watch. */
  NOT_SERVED: 'give-up',
  FORBIDDEN: 'retry',
  UNAUTHORIZED: 'retry',
  THROTTLED: 'retry',
  UNAVAILABLE: 'retry',
  UNREACHABLE: 'retry',
  /** 400. */
  BAD_REQUEST: 'retry',
  /** A 200 that is no answer: cut, no JSON, another kind. */
  UNREADABLE: 'retry',
  /** A list without resourceVersion: no watch can continue from there. */
  UNVERSIONED: 'retry',
}

export class ClusterError extends Error {
  override readonly name = 'ClusterError'
  readonly code: ClusterErrorCode
  readonly remedy: ClusterRemedy
  readonly retryAfterMs: number | null

  constructor(
    code: ClusterErrorCode,
    message: string,
    options?: ErrorOptions & { readonly retryAfterMs?: number | null },
  ) {
    super(message, options)
    this.code = code
    this.remedy = REMEDIES[code]
    this.retryAfterMs = options?.retryAfterMs ?? null
  }
}
