/**
 * Answers a question where its cluster is: here, or by sending the request whole to the process
 * that has the cluster and passing its answer on.
 *
 * What must stay true: a request is forwarded once only: a process that gets one and does not have
 * what it names says so, and the sender checks again who has it. After that it is refused with a
 * sentence; it is never answered without the cluster. The caller's own `Authorization` is
 * forwarded, so rights are checked where the answer is made.
 *
 * A question over all clusters is sent to every process that has some, each of which answers whole
 * for its own clusters.
 *
 * Not here: one call (forward-call.ts), which partition a cluster is (clusters.ts).
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ClusterId } from '../../../../core/model/object.ts'
import type { Clock } from '../../../../ports/clock.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import type { Clusters, KnownCluster } from './clusters.ts'
import type { Answer, RecordPlace } from './forward-call.ts'
import { call, markOf, moved, strange } from './forward-call.ts'
import { isClosed, lacking, type View } from './view.ts'

/**
 * How often the process that has a cluster is determined, and the wait before the second time;
 * longer before each.
 */
const ATTEMPTS = 3
const ATTEMPT_WAIT_MS = 100
/**
 * Until an answer begins: of one question (a client waits for two minutes), and of each process
 * that is asked the same. Once so much of that has passed, no process is asked again: one that is
 * silent would be waited for three times.
 */
const ANSWER_MS = 110_000
const GATHER_MS = 30_000
const TAKEN_OVER = 'it was taken over by another process just now'
const NOBODY = 'no process has it just now'

export interface ForwardingParts {
  readonly clusters: Clusters
  /** URLs of the processes that have the partitions, as far as is known. */
  readonly owners: () => ReadonlyMap<number, string>
  readonly clock: Clock
}

/** What one process answers for the clusters that it has. */
export interface Gathered<T> {
  readonly clusters: readonly KnownCluster[]
  readonly answer: T
}

export interface Gathering<T> {
  readonly asked: readonly KnownCluster[]
  readonly own: (views: readonly View[]) => Promise<T>
  readonly read: (answer: Answer) => Promise<T>
  /** What another process is asked of these partitions; left out: all of their clusters. */
  readonly records?: (partitions: readonly number[]) => readonly RecordPlace[]
  /** What another process is asked instead of the question; a process that was asked may ask it. */
  readonly sought?: string
}

/** `doubt`: why another cluster may be meant; empty where none can be. */
export interface MeantCluster {
  readonly id: ClusterId
  readonly doubt: string
}

/** Of a doubt that goes along with a question. */
const MOST_DOUBT = 500

export interface Forwarding {
  /**
   * `work` answers from the one store that has the cluster; where another process has it, the reply
   * is that process'.
   */
  answered<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    cluster: ClusterId | MeantCluster,
    work: (view: View) => Promise<T>,
  ): Promise<T | FastifyReply>
  /** By their first cluster; `partial` says which partitions could not be asked. */
  gathered<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    gathering: Gathering<T>,
  ): Promise<{ readonly all: readonly Gathered<T>[]; readonly partial: string }>
  /**
   * Of a request by which another process gathers: all clusters of the partitions that it names.
   * Undefined when it is none.
   */
  ownOf(request: FastifyRequest, reply: FastifyReply): Promise<readonly View[] | undefined>
}

export function createForwarding({ clusters, owners, clock }: ForwardingParts): Forwarding {
  return {
    async answered(request, reply, meant, work) {
      const { id, doubt } = typeof meant === 'string' ? { id: meant, doubt: '' } : meant
      const signal = closedOf(reply)
      for (let attempt = 1; ; attempt++) {
        const cluster = await clusters.one(id)
        if (cluster === undefined) {
          const why = 'its watcher gives it one when it runs'
          throw new Problem(503, `cluster ${id} has no partition: ${why}`)
        }
        const { partition, name } = cluster
        const view = clusters.view(cluster)
        let failure = TAKEN_OVER
        if (view !== undefined) {
          try {
            return await work(view)
          } catch (error) {
            if (!isClosed(error)) throw error
          }
        } else if (markOf(request) !== undefined) throw moved(reply, partition)
        else {
          const url = owners().get(partition)
          const mark = {
            cluster: id,
            ...(doubt !== '' && { doubt: doubt.slice(0, MOST_DOUBT).toWellFormed() }),
          }
          const answer =
            url && (await call(url, { request, mark, beginsWithinMs: ANSWER_MS, signal }))
          if (typeof answer === 'object') return pass(reply, answer)
          failure = answer ?? NOBODY
        }
        if (attempt >= ATTEMPTS || signal.aborted) {
          const why = lacking(new Map([[partition, failure]]), clusters.partitions)
          throw new Problem(503, `cluster ${name} cannot be asked, ask again later: ${why}`)
        }
        await clock.sleep(ATTEMPT_WAIT_MS * attempt, signal)
      }
    },

    async gathered(request, reply, gathering) {
      const { records, sought } = gathering
      const asked = markOf(request)
      const isFirst = asked === undefined || (asked.cluster !== undefined && sought !== undefined)
      if (!isFirst) throw strange()
      const signal = closedOf(reply)
      const untilMs = clock.monotonicMs() + GATHER_MS
      const left = Map.groupBy(gathering.asked, ({ partition }) => partition)
      const round = new Round(clusters, left, gathering)
      for (let attempt = 1; ; attempt++) {
        await round.askHere()
        const places = Map.groupBy(left.keys(), (partition) => owners().get(partition))
        await Promise.all(
          [...places].map(async ([url, partitions]) => {
            const some = records?.(partitions)
            const seeking = sought !== undefined && { sought }
            const mark = { partitions, ...(some && { records: some }), ...seeking }
            const answer =
              url && (await call(url, { request, mark, beginsWithinMs: GATHER_MS, signal }))
            await round.take(partitions, answer ?? NOBODY)
          }),
        )
        const isLast = attempt >= ATTEMPTS || clock.monotonicMs() >= untilMs
        if (left.size === 0 || isLast || signal.aborted) break
        await clock.sleep(ATTEMPT_WAIT_MS * attempt, signal)
      }
      return { all: round.all(), partial: lacking(round.reasons, clusters.partitions) }
    },

    async ownOf(request, reply) {
      const mark = markOf(request)
      if (mark?.partitions === undefined) return undefined
      const all = await clusters.all()
      const away = mark.partitions.find((each) => clusters.here(each) === undefined)
      if (away !== undefined) throw moved(reply, away)
      const asked = all.filter(({ partition }) => mark.partitions.includes(partition))
      return asked.flatMap((each) => clusters.view(each) ?? [])
    },
  }
}

/** What was gathered so far, and what is left to ask. */
class Round<T> {
  readonly #clusters: Clusters
  readonly #left: Map<number, KnownCluster[]>
  readonly #gathering: Gathering<T>
  readonly #all: Gathered<T>[] = []
  readonly reasons = new Map<number, string>()

  constructor(clusters: Clusters, left: Map<number, KnownCluster[]>, gathering: Gathering<T>) {
    this.#clusters = clusters
    this.#left = left
    this.#gathering = gathering
  }

  async askHere(): Promise<void> {
    const asked = [...this.#left.values()].flat()
    const views = asked.flatMap((each) => this.#clusters.view(each) ?? [])
    const partitions = [...new Set(views.map(({ partition }) => partition.partition))]
    if (views.length === 0) return
    try {
      this.#keep(partitions, await this.#gathering.own(views))
    } catch (error) {
      if (!isClosed(error)) throw error
      for (const each of partitions) this.reasons.set(each, TAKEN_OVER)
    }
  }

  async take(partitions: readonly number[], answer: Answer | string): Promise<void> {
    let failure = typeof answer === 'string' ? answer : ''
    if (typeof answer !== 'string') {
      try {
        return this.#keep(partitions, await this.#gathering.read(answer))
      } catch (error) {
        failure = `its answer cannot be read: ${error instanceof Error ? error.message : error}`
      }
    }
    for (const each of partitions) this.reasons.set(each, failure)
  }

  #keep(partitions: readonly number[], answer: T): void {
    const clusters = partitions.flatMap((each) => this.#left.get(each) ?? [])
    this.#all.push({ clusters, answer })
    for (const each of partitions) {
      this.#left.delete(each)
      this.reasons.delete(each)
    }
  }

  all(): readonly Gathered<T>[] {
    const firstOf = ({ clusters }: Gathered<T>): string =>
      clusters.reduce((first, { id }) => (first < id ? first : id), '\u{10ffff}')
    return this.#all.sort((a, b) => (firstOf(a) < firstOf(b) ? -1 : 1))
  }
}

/** Aborts when the client has closed the connection. */
export function closedOf(reply: FastifyReply): AbortSignal {
  const closed = new AbortController()
  if (reply.raw.closed) closed.abort()
  reply.raw.on('close', () => closed.abort())
  return closed.signal
}

const PASSED = [
  ...['content-type', 'x-content-type-options', 'etag', 'cache-control', 'vary', 'warning'],
]

/**
 * As it arrives: a slow client makes the other process wait. An answer that breaks off there breaks
 * off here.
 */
function pass(reply: FastifyReply, { statusCode, headers, body }: Answer): FastifyReply {
  for (const name of PASSED) {
    const value = headers[name]
    if (value !== undefined) reply.header(name, value)
  }
  return reply.code(statusCode).send(body)
}
