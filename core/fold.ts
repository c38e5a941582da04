/**
 * Folds one record of a partition into the graph and returns the commands for the cluster.
 *
 * What must stay true: the result follows from the state and the record alone, in bounded work. The
 * graph is only as fresh as the log, so a command is a claim and never a fact; its result comes
 * back as an event, and that event changes the graph. This is what makes a replay of the log
 * harmless.
 *
 * Not here: clocks, clusters, bytes, reading pages (services/graph).
 */
import { countObservations } from './admit/burst.ts'
import { directive } from './admit/directive.ts'
import type { PageRequest } from './graph/agenda.ts'
import { endTurn, enqueue, firstWork, hasWork, laneNamed, passTurnsOn } from './graph/agenda.ts'
import type { Graph } from './graph/graph.ts'
import type { At, Outcome, Step, Subject } from './graph/outcome.ts'
import { RecordStep } from './graph/outcome.ts'
import { removeFinalizer } from './issue/finalizer-removal.ts'
import { changeBy, moveWitness } from './issue/verification.ts'
import { costOfRules } from './judge/rule.ts'
import { judge } from './judge.ts'
import {
  KEYS_OF_A_READ,
  KEYS_PER_RECORD,
  REFERENCES_AT_ONCE,
  REFERENCES_OF_NEWS,
  REFERENCES_PER_RECORD,
} from './model/constant.ts'
import type { Event } from './model/event.ts'
import { never } from './model/invariant.ts'
import type { ClusterId, Uid } from './model/object.ts'
import { clusterOfHome, objectKey } from './model/partition.ts'
import type { Todo } from './model/state.ts'
import { objectDeleted } from './observe/departure.ts'
import { clusterElsewhere, ownerElsewhere } from './observe/elsewhere.ts'
import { commandSettled, ownerAbsent, ownerFound } from './observe/settle.ts'
import { objectSeen, touched } from './observe/sighting.ts'
import {
  heartbeat,
  kindGone,
  kindServed,
  policyChanged,
  syncFinished,
  syncStarted,
  unreadable,
  watcherStarted,
} from './observe/sync.ts'
import { nextPage, takeStep } from './work.ts'

/** A record being folded. */
interface Folding {
  readonly record: RecordStep
  readonly event: Event
  readonly hadWork: boolean
  keysLeft: number
  /** An object was not judged, since the record may judge no more. */
  isFull: boolean
}

/** The keys of a page, in order, as they are stored and changed since. */
type ReadPage = (request: PageRequest) => readonly string[]

/** Folds a record to its end, where pages can be read at once. */
export function foldRecord(graph: Graph, event: Event, at: At, readPage: ReadPage): Outcome {
  const folding = fold(graph, event, at)
  for (let next = pageOf(folding); next !== undefined; next = pageOf(folding)) {
    resume(folding, readPage(next))
  }
  return finish(folding)
}

/** The same where reading a page takes time: if no page is needed it returns at once. */
export function foldRecordFrom(
  graph: Graph,
  event: Event,
  at: At,
  readPage: (request: PageRequest) => Promise<readonly string[]>,
): Outcome | Promise<Outcome> {
  const folding = fold(graph, event, at)
  const first = pageOf(folding)
  return first === undefined ? finish(folding) : goOn(folding, first, readPage)
}

async function goOn(
  folding: Folding,
  first: PageRequest,
  readPage: (request: PageRequest) => Promise<readonly string[]>,
): Promise<Outcome> {
  for (let next: PageRequest | undefined = first; next !== undefined; next = pageOf(folding)) {
    resume(folding, await readPage(next))
  }
  return finish(folding)
}

/**
 * Begins to fold a record. While `pageOf` names a page, give its keys to `resume`; then `finish`.
 */
function fold(graph: Graph, event: Event, at: At): Folding {
  const isNews = event.type !== 'Continue' && event.type !== 'Heartbeat'
  const record = new RecordStep(graph, at, REFERENCES_PER_RECORD, isNews)
  const hadWork = hasWork(graph)
  apply(record.in(clusterIn(event)), event)
  countObservations(record)
  judgeDirty(record)
  passTurnsOn(record)
  const keysLeft = mayGoOn(event, hadWork) ? KEYS_PER_RECORD : 0
  return { record, event, hadWork, keysLeft, isFull: false }
}

/** Empty for a record about all clusters. */
function clusterIn(event: Event): ClusterId {
  if (event.type === 'Unreadable') return clusterOfHome(event.home)
  return event.type === 'PolicyChanged' || event.type === 'Continue' ? '' : event.cluster
}

/**
 * The record that puts work on the agenda begins with it. From then on the work continues at
 * `Continue`, which comes in the log after everything published meanwhile: otherwise each result of
 * a cascade would bring hundreds of decisions more, and the fold would fall behind the reapers. It
 * also continues at heartbeats, should a `Continue` ever be unreadable.
 */
function mayGoOn({ type }: Event, hadWork: boolean): boolean {
  return !hadWork || type === 'Continue' || type === 'Heartbeat'
}

/** The page that the fold needs next; undefined when this record may do no more. */
function pageOf({ record, keysLeft, isFull }: Folding): PageRequest | undefined {
  return keysLeft > 0 && !isFull ? nextPage(record) : undefined
}

function resume(folding: Folding, keys: readonly string[]): void {
  const { record } = folding
  record.work = firstWork(record) ?? null
  const referencesLeft = record.references
  const isOver = takeStep(record, keys, (step, todo, uid) => {
    const isDone = todo.type === 'subject' ? judgeQueued(step, uid) : judgeFor(step, todo, uid)
    // Not before: work on objects that it has judged costs nothing more, such as further owners of
    // one that used up the limit.
    if (!isDone) folding.isFull = true
    return isDone
  })
  // An object that was refused is the first of the next record, which judges it whatever it costs.
  if (isOver && !folding.isFull) endTurn(record, referencesLeft - record.references)
  countObservations(record)
  judgeDirty(record)
  if (isOver && !folding.isFull) passTurnsOn(record)
  record.work = null
  folding.keysLeft -= Math.max(KEYS_OF_A_READ, keys.length)
}

/**
 * After the facts are written: the objects they changed are judged; those beyond the record's limit
 * are put on the agenda.
 */
function judgeDirty(record: RecordStep): void {
  const { dirty, judged } = record
  // Judging one object may change what another one waits for.
  for (let next = firstOf(dirty); next !== undefined; next = firstOf(dirty)) {
    const [key, { cluster, uid }] = next
    dirty.delete(key)
    judged.delete(key)
    const step = record.in(cluster)
    if (!judgeOnce(step, uid)) queueSubject(step, uid)
  }
}

function firstOf(dirty: RecordStep['dirty']): [string, Subject] | undefined {
  for (const entry of dirty) return entry
  return undefined
}

/** Where only an owner of it changed, it is not judged if that cannot change its verdict. */
function judgeFor(step: Step, todo: Todo, uid: Uid): boolean {
  const change = todo.type === 'dependents' ? changeBy(step, todo, uid) : 'due'
  if (change === 'due') return judgeOnce(step, uid)
  if (change === 'perhaps') queueSubject(step, uid, false)
  return true
}

/**
 * Judges an object unless this record has, since its facts changed. False: it has more references
 * than the record may still judge.
 */
function judgeOnce(step: Step, uid: Uid): boolean {
  const cost = costOf(step, uid)
  if (cost <= REFERENCES_AT_ONCE + 1) return judgeWithin(step, uid, cost)
  // Once, after the work that its namespace has on the agenda, however many of its owners changed.
  queueSubject(step, uid)
  return true
}

/**
 * Its turn has come. An object with many references is left to `Continue`, which comes after
 * everything published meanwhile.
 */
function judgeQueued(step: Step, uid: Uid): boolean {
  const { record, graph } = step
  if (graph.queued(uid)?.isWhole === false) {
    const change = moveWitness(step, uid, record.references)
    if (change === 'perhaps') return false
    if (change === 'stays') graph.setQueued(uid, null)
    if (change === 'stays') return true
  }
  const cost = costOf(step, uid)
  if (record.isNews && cost > REFERENCES_OF_NEWS) return false
  if (!judgeWithin(step, uid, cost)) return false
  graph.setQueued(uid, null)
  return true
}

function queueSubject(step: Step, uid: Uid, isWhole = true): void {
  const { graph } = step
  const former = graph.queued(uid)
  if (former !== undefined && (former.isWhole || !isWhole)) return
  graph.setQueued(uid, { type: 'Queued', isWhole })
  if (former !== undefined) return
  const namespace = laneNamed(graph.node(uid)?.object.namespace)
  enqueue(step, { namespace, todo: { type: 'subject', uid } })
}

/** 0 for an object that does not exist, or that was judged and rests on the same facts. */
function costOf({ record, cluster, graph }: Step, uid: Uid): number {
  if (record.judged.has(objectKey(cluster, uid))) return 0
  const node = graph.node(uid)
  if (node === undefined) return 0
  return 1 + node.object.ownerReferences.length + costOfRules(graph, node.object)
}

function judgeWithin(step: Step, uid: Uid, cost: number): boolean {
  if (cost === 0) return true
  const { record, cluster } = step
  // The first of a record is judged whatever it costs: otherwise it would never be judged.
  const isFirst = record.references === REFERENCES_PER_RECORD
  if (cost > record.references && !isFirst) return false
  record.references -= cost
  step.outcome.work += cost
  record.judged.add(objectKey(cluster, uid))
  judge(step, uid)
  return true
}

/**
 * Ends the fold: the rest of the agenda is continued by a record of its own, so a replay slices the
 * same way.
 */
function finish(folding: Folding): Outcome {
  const { record, event, hadWork } = folding
  const { outcome } = record
  outcome.continues = hasWork(record.graph) && (event.type === 'Continue' || !hadWork)
  return outcome
}

function apply(step: Step, event: Event): void {
  switch (event.type) {
    case 'ObjectAdded':
    case 'ObjectUpdated':
      return objectSeen(step, event)
    case 'ObjectDeleted':
      return objectDeleted(step, event)
    case 'Touched':
      return touched(step, event)
    case 'OwnerFound':
      return ownerFound(step, event)
    case 'OwnerAbsent':
      return ownerAbsent(step, event)
    case 'CommandSettled':
      return commandSettled(step, event)
    case 'WatcherStarted':
      return watcherStarted(step, event)
    case 'SyncStarted':
      return syncStarted(step, event)
    case 'SyncFinished':
      return syncFinished(step, event)
    case 'KindServed':
      return kindServed(step, event)
    case 'KindGone':
      return kindGone(step, event)
    case 'Heartbeat':
      return heartbeat(step, event)
    case 'OwnerElsewhere':
      return ownerElsewhere(step, event)
    case 'ClusterElsewhere':
      return clusterElsewhere(step, event)
    case 'PolicyChanged':
      return policyChanged(step, event)
    case 'Unreadable':
      return unreadable(step, event)
    case 'Directive':
      return event.verb === 'remove-finalizer'
        ? removeFinalizer(step, event)
        : directive(step, event)
    case 'Continue':
      return
    default:
      return never(event)
  }
}
