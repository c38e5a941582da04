/**
 * A cluster whose calls about one object are reported to an observer: for latencies and traces.
 *
 * What must stay true: it answers, and fails, as the cluster behind it does. A report delays no
 * caller, and comes after the answer.
 *
 * Not here: what is made of a report (cli/process/process-metrics.ts, traces.ts).
 */
import {
  type Cluster,
  ClusterError,
  type GetAnswer,
  type ReadAnswer,
  type ReapAnswer,
} from '../../ports/cluster.ts'

type Answer = GetAnswer | ReadAnswer | ReapAnswer

/** `WARN` posts an Event. */
export type ObservedVerb = 'GET' | 'DELETE' | 'PATCH' | 'WARN'

export interface ObservedCall {
  /** The cluster's name. */
  readonly cluster: string
  readonly verb: ObservedVerb
  /** Of the resource that was asked for. */
  readonly group: string
  readonly resource: string
  /** `Unknown` where the call threw a `ClusterError`. */
  readonly outcome: Answer['type']
  /** Null: no answer. */
  readonly code: number | null
  readonly tookMs: number
  /** What the cluster's audit log calls it: the command's id. */
  readonly auditId: string | undefined
}

export type CallObserver = (call: ObservedCall) => void

type Target = Parameters<Cluster['get']>[0]

/** `monotonicMs`: a clock that only goes forward. Closing it closes the cluster. */
export function observedCluster(
  cluster: Cluster,
  monotonicMs: () => number,
  observe: CallObserver,
): Cluster {
  async function timed<A extends Answer>(
    verb: ObservedVerb,
    target: Target,
    auditId: string | undefined,
    call: () => Promise<A>,
  ): Promise<A> {
    const beganMs = monotonicMs()
    const report = (outcome: Answer['type'], code: number | null): void => {
      const { group, resource } = target
      const tookMs = monotonicMs() - beganMs
      observe({ cluster: cluster.name, verb, group, resource, outcome, code, tookMs, auditId })
    }
    try {
      const answer = await call()
      report(answer.type, answer.code)
      return answer
    } catch (error) {
      if (error instanceof ClusterError) report('Unknown', null)
      throw error
    }
  }

  return {
    name: cluster.name,
    project: (projection) => cluster.project(projection),
    apart: () => observedCluster(cluster.apart(), monotonicMs, observe),
    identify: (signal) => cluster.identify(signal),
    discover: (signal) => cluster.discover(signal),
    list: (...asked) => cluster.list(...asked),
    select: (...asked) => cluster.select(...asked),
    currentVersion: (resource, signal) => cluster.currentVersion(resource, signal),
    watch: (resource, from, signal) => cluster.watch(resource, from, signal),
    get: (target, signal, of, auditId) =>
      timed('GET', target, auditId, () => cluster.get(target, signal, of, auditId)),
    read: (target, signal, of) =>
      timed('GET', target, undefined, () => cluster.read(target, signal, of)),
    delete: (target, options, signal) =>
      timed('DELETE', target, options.auditId, () => cluster.delete(target, options, signal)),
    patch: (target, operations, dryRun, signal, auditId) =>
      timed('PATCH', target, auditId, () =>
        cluster.patch(target, operations, dryRun, signal, auditId),
      ),
    merge: (target, options, signal) =>
      timed('PATCH', target, options.auditId, () => cluster.merge(target, options, signal)),
    writeStatus: (target, status, signal) =>
      timed('PATCH', target, undefined, () => cluster.writeStatus(target, status, signal)),
    writeEvent: (target, event, signal, auditId) =>
      timed('WARN', target, auditId, () => cluster.writeEvent(target, event, signal, auditId)),
    mayI: (verb, what, signal) => cluster.mayI(verb, what, signal),
    whoAmI: (signal) => cluster.whoAmI(signal),
    probeLock: (signal) => cluster.probeLock(signal),
    readStarts: (signal) => cluster.readStarts(signal),
    writeStarts: (read, entries, signal) => cluster.writeStarts(read, entries, signal),
    clockSkewMs: (signal) => cluster.clockSkewMs(signal),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}
