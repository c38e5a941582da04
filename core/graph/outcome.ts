/**
 * The outcome of folding one record besides the changed state, and the step in which it is
 * gathered.
 *
 * What must stay true: everything here follows from the state and the record alone; the order of
 * the lists is the order of deciding.
 */
import type { Command } from '../model/command.ts'
import type { CommandSettled } from '../model/event.ts'
import type { CommandId } from '../model/id.ts'
import type { Admission, Node, Phase } from '../model/node.ts'
import type { ClusterId, Coordinates, GroupKind, ObjectMeta, Uid } from '../model/object.ts'
import { objectKey } from '../model/partition.ts'
import type { Evidence, Proof } from '../model/proof.ts'
import type { History, HistoryChange } from '../model/record.ts'
import type { ClusterState, Work } from '../model/state.ts'
import { ClusterGraph } from './cluster-graph.ts'
import type { Graph } from './graph.ts'

/** The record's coordinates in the log, and its time. */
export interface At {
  readonly partition: number
  readonly partitions: number
  readonly position: bigint
  /** Append time in milliseconds. */
  readonly timestamp: number
}

export interface RelistRequest {
  readonly cluster: ClusterId
  readonly kind: GroupKind
  /** Grows with each request: the append time of the record that asked. */
  readonly number: number
  readonly why: string
}

export interface Outcome {
  readonly commands: Command[]
  /** Owner references judged, and a subject each: bounded for a record (fold.ts). */
  work: number
  /** Work is left: a `Continue` is appended after everything published meanwhile. */
  continues: boolean
  readonly history: History[]
  readonly relists: RelistRequest[]
  /** Objects whose lineage may have changed, by `objectKey`. */
  readonly touched: Map<string, Touch>
  /** Objects, by `objectKey`, that have been deleted for longer than the memory lasts. */
  readonly forgotten: string[]
  /** Why the record changed nothing; null when it was taken. */
  dropped: string | null
}

export interface Touch {
  readonly cluster: ClusterId
  readonly uid: Uid
  /**
   * For an object that is no longer a node: what it was, and whether it was deleted or is only
   * unwatched.
   */
  readonly last: (LastOfNode & { readonly phase: 'gone' | 'suspect' } & LastSeen) | null
}

/** Of one that left: whether each state from the last one on was seen, and one that orphans. */
export interface LastSeen {
  readonly isWhole: boolean
  readonly isOrphaning: boolean
}

export type LastOfNode = Pick<Node, 'object' | 'verdict' | 'hold' | 'attempt'>

/** One record being folded. */
export class RecordStep {
  readonly graph: Graph
  readonly at: At
  readonly outcome: Outcome = emptyOutcome()
  /**
   * Subjects whose facts changed, by `objectKey`: judged once those of the record are all written
   * (fold.ts).
   */
  readonly dirty: Map<string, Subject> = new Map()
  /**
   * The record's observations for the safeguards: read once its facts are all written (fold.ts).
   */
  readonly observations: Observation[] = []
  /**
   * Objects judged since anything was put on the agenda: no input of theirs has changed, so this
   * record does not judge them again.
   */
  readonly judged: Set<string> = new Set()
  /** How many owner references this record may still judge. */
  references: number
  /** Of the work that is under way; null where the record itself causes it. */
  work: Work | null = null
  /** It has facts, and does not exist only to continue the agenda. */
  readonly isNews: boolean
  readonly #steps = new Map<ClusterId, Step>()

  constructor(graph: Graph, at: At, references: number, isNews: boolean) {
    this.graph = graph
    this.at = at
    this.references = references
    this.isNews = isNews
  }

  /** What the record does in a cluster; empty: to what all clusters share. */
  in(cluster: ClusterId): Step {
    const known = this.#steps.get(cluster)
    if (known !== undefined) return known
    const { at, outcome, graph } = this
    const step = { record: this, cluster, graph: new ClusterGraph(graph, cluster), at, outcome }
    this.#steps.set(cluster, step)
    return step
  }
}

/** One record being folded, in one cluster. */
export interface Step {
  readonly record: RecordStep
  readonly cluster: ClusterId
  readonly graph: ClusterGraph
  readonly at: At
  readonly outcome: Outcome
}

export type Observation =
  | {
      readonly type: 'deletion'
      readonly cluster: ClusterId
      readonly object: ObjectMeta
      readonly proof: Proof
    }
  | { readonly type: 'made'; readonly cluster: ClusterId; readonly object: ObjectMeta }
  | { readonly type: 'listed'; readonly cluster: ClusterId; readonly kind: GroupKind }
  | { readonly type: 'result'; readonly event: CommandSettled }

export interface Subject {
  readonly cluster: ClusterId
  readonly uid: Uid
}

/** The only way for a handler of records or a work to have an object judged. */
export function markDirty(step: Step, uid: Uid): void {
  const { record, cluster } = step
  record.dirty.set(objectKey(cluster, uid), { cluster, uid })
}

export function emptyOutcome(): Outcome {
  return {
    commands: [],
    work: 0,
    continues: false,
    history: [],
    relists: [],
    touched: new Map(),
    forgotten: [],
    dropped: null,
  }
}

export function drop(step: Step, reason: string): void {
  step.outcome.dropped = reason
}

/**
 * The state of the event's cluster, unless the event comes from a watcher that has been succeeded.
 */
export function currentCluster(
  step: Step,
  event: { readonly epoch: number },
): ClusterState | undefined {
  const state = step.graph.state
  if (state !== undefined && event.epoch >= state.epoch) return state
  const why =
    state === undefined ? 'its watcher has not started' : 'from a watcher that was succeeded'
  return void drop(step, why)
}

/** The id of the command that is issued next: the place in the log that decided it. */
export function nextCommandId(step: Step): CommandId {
  return `${step.at.partition}-${step.at.position}-${step.outcome.commands.length}`
}

export function touch(step: Step, uid: Uid, last: Touch['last'] = null): void {
  const { cluster } = step
  step.outcome.touched.set(objectKey(cluster, uid), { cluster, uid, last })
}

export function tell(
  step: Step,
  about: Coordinates & { readonly uid: Uid },
  change: HistoryChange,
  text: string,
  more: {
    readonly phase?: Phase
    readonly evidence?: Evidence | null
    readonly admission?: Admission | null
    readonly command?: CommandId
    readonly basis?: readonly bigint[]
  } = {},
): void {
  const { group, kind, namespace, name, uid } = about
  const { cluster } = step
  const { partition, position, timestamp } = step.at
  step.outcome.history.push({
    type: 'History',
    cluster,
    group,
    kind,
    namespace,
    name,
    uid,
    change,
    text,
    phase: more.phase ?? null,
    evidence: more.evidence ?? null,
    admission: more.admission ?? null,
    command: more.command ?? null,
    partition,
    position,
    basis: more.basis ?? [],
    at: timestamp,
  })
}

export function askRelist(step: Step, kind: GroupKind, why: string): void {
  const { cluster } = step
  const { group, kind: name } = kind
  const isAsked = step.outcome.relists.some(
    (asked) => asked.cluster === cluster && asked.kind.group === group && asked.kind.kind === name,
  )
  if (isAsked) return
  step.outcome.relists.push({
    cluster,
    kind: { group, kind: name },
    number: step.at.timestamp,
    why,
  })
}
