/**
 * Notices that a data directory was copied and runs twice: both name their start in the clusters.
 *
 * Two processes on one record would each have the budgets, pauses and approvals of both. A lock on
 * the directory keeps a second process off it, not off a copy. So each start writes its name under
 * the identity of the directory, which a copy shares, and renews it. Who finds the name of a start
 * that is not in its own record, and that is renewed, is the second: it deletes nothing, goes on
 * recording, and leaves its own name beside, where the first finds it. Both say so.
 *
 * What must stay true: nothing is deleted in a cluster before its name was written there, nor once
 * it could not be renewed for so long that another may have taken over. How long a name is
 * unchanged is judged by the own monotonic clock, never by a time that another machine wrote. Where
 * our account may not write it, copies are not noticed, which is a warning.
 *
 * Not here: the object in the cluster (adapters/kubernetes/starts.ts), the names (data-start.ts).
 */
import type { ClusterId } from '../../core/model/object.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Cluster, ClusterError, type ClusterErrorCode, STARTS } from '../../ports/cluster.ts'
import { type Check, warned } from '../../runtime/health.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { DataStart } from './data-start.ts'

const LOOK_EVERY_MS = 15_000
/** Until the first answer. */
const LOOK_AGAIN_MS = 2_000
const CALL_MS = 5_000
/** After this long without a change, the process that wrote an entry no longer runs. */
const SILENT_MS = 60_000
/** Well before another may take over. */
const RENEWED_WITHIN_MS = 40_000
/** Of all directories; of more some are dropped, and what runs writes its own again. */
const MOST_ENTRIES = 32
const SECOND = '.second'

type StartsCluster = Pick<Cluster, 'name' | 'readStarts' | 'writeStarts'>

interface Connected {
  readonly id: ClusterId
  readonly cluster: StartsCluster
}

export interface CopiedDataParts {
  readonly own: DataStart
  /** More may be added. */
  readonly clusters: readonly Connected[]
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * - `unknown`: nothing was written yet, or it was not renewed. - `first`: our name is there.
 * - `second`: `other` is. - `blind`: our account may not write it.
 */
type Status =
  | { readonly type: 'unknown' | 'blind'; readonly reason: string }
  | { readonly type: 'first'; readonly copy: string }
  | { readonly type: 'second'; readonly other: string }

interface Entry {
  readonly text: string
  readonly sinceMs: number
}

interface Known {
  status: Status
  renewedMs: number
  /** As last seen, and since when it is so. */
  other: Entry | undefined
  copy: Entry | undefined
}

export class CopiedData {
  readonly #parts: CopiedDataParts
  readonly #known = new Map<ClusterId, Known>()
  #renewals = 0

  constructor(parts: CopiedDataParts) {
    this.#parts = parts
  }

  /** Until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    while (!signal.aborted) {
      const isAnyUnknown = this.#all().some(({ status }) => status.type === 'unknown')
      await clock.sleep(isAnyUnknown ? LOOK_AGAIN_MS : LOOK_EVERY_MS, signal)
      if (!signal.aborted) await this.look(signal)
    }
  }

  /** Once, in all clusters; each has its own limit. */
  async look(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#parts.clusters.map((each) => this.#lookAt(each, signal)))
  }

  /** Why nothing may be deleted there now; empty where it may be. */
  barring(id: ClusterId): string {
    const known = this.#known.get(id)
    if (known === undefined) return NOT_YET
    const { status, renewedMs } = known
    switch (status.type) {
      case 'blind':
        return ''
      case 'unknown':
        return NOT_YET
      case 'second':
        return 'another process runs on a copy of this data directory'
      case 'first': {
        const isRenewed = this.#parts.clock.monotonicMs() - renewedMs < RENEWED_WITHIN_MS
        return isRenewed ? '' : NOT_YET
      }
    }
  }

  /** One for each cluster in which it is so, or is not known. */
  checks(): Check[] {
    return this.#all().flatMap(({ name, status }) => {
      const reason = this.#textOf(status)
      return reason === '' ? [] : [warned(`data-copy/${name}`, reason)]
    })
  }

  /** By the name of a cluster, whether a copy was found there. */
  found(): readonly { readonly name: string; readonly isFound: boolean }[] {
    return this.#all().map(({ name, status }) => ({
      name,
      isFound: status.type === 'second' || (status.type === 'first' && status.copy !== ''),
    }))
  }

  #all(): readonly { readonly name: string; readonly status: Status }[] {
    return this.#parts.clusters.map(({ id, cluster }) => {
      const unknown: Status = { type: 'unknown', reason: 'it was not asked yet' }
      return { name: cluster.name, status: this.#known.get(id)?.status ?? unknown }
    })
  }

  async #lookAt({ id, cluster }: Connected, signal: AbortSignal): Promise<void> {
    const known = this.#known.get(id) ?? {
      ...{ status: { type: 'unknown', reason: '' }, renewedMs: Number.NEGATIVE_INFINITY },
      ...{ other: undefined, copy: undefined },
    }
    const limit = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)])
    try {
      const status = await this.#exchanged(cluster, known, limit)
      if (status !== undefined) this.#became(cluster, known, status)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof ClusterError) && !limit.aborted) throw error
      this.#failed(cluster, known, error as Error)
    }
    this.#known.set(id, known)
  }

  /** Undefined: another process wrote at the same time, so it is read again. */
  async #exchanged(
    cluster: StartsCluster,
    known: Known,
    limit: AbortSignal,
  ): Promise<Status | undefined> {
    const { own, clock } = this.#parts
    const starts = await cluster.readStarts(limit)
    const sentMs = clock.monotonicMs()
    const { [own.directory]: first = '', [own.directory + SECOND]: second = '' } = starts.entries
    const mine = `${own.start}/${++this.#renewals}`
    const { [own.directory]: _f, [own.directory + SECOND]: _s, ...rest } = starts.entries
    const others = Object.fromEntries(Object.entries(rest).slice(-MOST_ENTRIES))
    if (this.#isOthers(first, known)) {
      // What was read decides; that the write is refused makes it no less a copy.
      this.#became(cluster, known, { type: 'second', other: startIn(first) })
      await cluster.writeStarts(
        starts,
        { ...others, [own.directory]: first, [own.directory + SECOND]: mine },
        limit,
      )
      return { type: 'second', other: startIn(first) }
    }
    const copy = this.#copyIn(second, known)
    const beside = copy === '' ? {} : { [own.directory + SECOND]: second }
    const entries = { ...others, [own.directory]: mine, ...beside }
    if (!(await cluster.writeStarts(starts, entries, limit))) return undefined
    known.renewedMs = sentMs
    return { type: 'first', copy }
  }

  /** Whether that is a start of no record of ours, and one that runs. */
  #isOthers(text: string, known: Known): boolean {
    const { own, clock } = this.#parts
    const start = startIn(text)
    if (start === '' || start === own.start || own.former.includes(start)) {
      known.other = undefined
      return false
    }
    known.other = seen(text, known.other, clock.monotonicMs())
    return clock.monotonicMs() - known.other.sinceMs < SILENT_MS
  }

  /** The start of a second process, while it runs. What an earlier start left is not of one. */
  #copyIn(text: string, known: Known): string {
    const { own, clock } = this.#parts
    const start = startIn(text)
    const isFirstLook = known.status.type !== 'first'
    if (start === '' || start === own.start || isFirstLook) {
      known.copy = undefined
      return ''
    }
    known.copy = seen(text, known.copy, clock.monotonicMs())
    return clock.monotonicMs() - known.copy.sinceMs < SILENT_MS ? start : ''
  }

  #became(cluster: StartsCluster, known: Known, status: Status): void {
    const { logger } = this.#parts
    const former = this.#textOf(known.status)
    known.status = status
    const reason = this.#textOf(status)
    if (reason === former) return
    const { name } = cluster
    if (reason === '') {
      if (former !== '') logger.log('info', 'no copy of the data directory runs', { name })
    } else logger.log('error', 'the data directory was copied and runs twice', { name, reason })
  }

  /** A refusal says that our account may not; all else that it is not known for now. */
  #failed({ name }: StartsCluster, known: Known, error: Error): void {
    const { clock, logger } = this.#parts
    if (known.status.type === 'second') return
    const isBlind = error instanceof ClusterError && REFUSALS.has(error.code)
    const isRenewed = clock.monotonicMs() - known.renewedMs < RENEWED_WITHIN_MS
    if (!isBlind && isRenewed) return
    const type = isBlind ? 'blind' : 'unknown'
    if (known.status.type !== type) {
      logger.log('warn', 'whether the data directory was copied is not known', {
        name,
        reason: error.message,
      })
    }
    known.status = { type, reason: error.message }
  }

  #textOf(status: Status): string {
    switch (status.type) {
      case 'unknown':
        return status.reason === '' ? '' : `${NOT_YET}: ${status.reason}`
      case 'blind':
        return `a second process on a copy of this data directory would not be noticed: grant get, create and update on leases.coordination.k8s.io named ${STARTS.name} in namespace ${STARTS.namespace} (kinfold rbac prints it): ${status.reason}`
      case 'second':
        return `another process runs on a copy of this data directory (start ${status.other}, this is ${this.#parts.own.start}): this one deletes nothing; end one of them, and remove its directory`
      case 'first':
        return status.copy === ''
          ? ''
          : `another process runs on a copy of this data directory (start ${status.copy}, this is ${this.#parts.own.start}); it deletes nothing while this one runs: end one of them, and remove its directory`
    }
  }
}

/** What stays so until a person sees to it. */
const REFUSALS: ReadonlySet<string> = new Set([
  ...(['FORBIDDEN', 'NOT_SERVED', 'BAD_REQUEST', 'UNREADABLE'] satisfies ClusterErrorCode[]),
])

const NOT_YET = 'whether another process runs on a copy of this data directory is not known yet'

/** A start of a copy, as a cluster shows it; it need not run any more. */
export function strangerIn(
  entries: Readonly<Record<string, string>>,
  { directory, start, former }: DataStart,
): string | undefined {
  const named = [entries[directory], entries[directory + SECOND]].map((text = '') => startIn(text))
  return named.find((each) => each !== '' && each !== start && !former.includes(each))
}

/** `START/RENEWALS`. */
function startIn(text: string): string {
  return text.split('/')[0] ?? ''
}

function seen(text: string, last: Entry | undefined, nowMs: number): Entry {
  return last?.text === text ? last : { text, sinceMs: nowMs }
}
