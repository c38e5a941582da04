/**
 * Checks a whole partition's state: the relations between its keys that must hold whenever its
 * agenda is empty, those of each node (core/fault.ts) among them.
 *
 * What must stay true: it reads every key and changes none. It names each complaint and never stops
 * at the first.
 *
 * Not here: damage to bytes (ports/store.ts), whether the log folds to this state (audits).
 */
import { faultsOf } from '../../core/fault.ts'
import { factsOf } from '../../core/graph/facts.ts'
import { countedFor } from '../../core/graph/gets.ts'
import type { StateReader } from '../../core/graph/graph.ts'
import { agendaOf } from '../../core/graph/graph.ts'
import { listedBy, memberOf } from '../../core/graph/held-plan.ts'
import type { Timer } from '../../core/graph/key.ts'
import {
  coordinatesIn,
  coordinatesPart,
  countKey,
  dueKey,
  getsKey,
  heldKey,
  laneKey,
  lastPart,
  membersKey,
  planKey,
  timeOfDueKey,
} from '../../core/graph/key.ts'
import { linksOf } from '../../core/graph/link.ts'
import { tableOf } from '../../core/graph/table.ts'
import { relistsAwaited } from '../../core/judge.ts'
import type { SetHash } from '../../core/model/hash.ts'
import { EMPTY_SET, isSameSet, withMember } from '../../core/model/hash.ts'
import type { Node } from '../../core/model/node.ts'
import type { ClusterId } from '../../core/model/object.ts'
import type { Gets, StateValue } from '../../core/model/state.ts'
import { checkElsewhere } from './elsewhere-state-check.ts'
import { checkKept } from './keep-state-check.ts'
import {
  checkClusterRules,
  checkOrders,
  checkPolicyNode,
  checkRuled,
  checkRuleOwner,
  checkRun,
} from './rule-state-check.ts'
import type { ExpectedTurns } from './rule-turn-check.ts'
import { checkTurns, expectTurn } from './rule-turn-check.ts'
import { checkUses } from './use-state-check.ts'

type Entries = ReadonlyMap<string, StateValue>

/** One sentence for each thing that does not hold; empty when all is well. */
export function check(entries: Entries): readonly string[] {
  const graph: StateReader = { get: (key) => entries.get(key) }
  const agenda = agendaOf(graph)
  if (agenda.head !== agenda.tail) return [`${agenda.tail - agenda.head} lanes have work left`]
  const timers = timersOf(entries)
  const expected: Expected = {
    edges: new Set(),
    counts: new Map(),
    members: new Map(),
    waiting: new Map(),
    plans: new Map(),
    turns: new Map(),
    gets: new Map(),
  }
  const complaints: string[] = []
  for (const [key, value] of entries) {
    complaints.push(...checkTable(key, value).map((it) => `${key}: ${it}`))
    complaints.push(...checkOne(graph, timers, expected, key, value).map((it) => `${key}: ${it}`))
  }
  return [
    ...complaints,
    ...checkAll(entries, expected),
    ...checkKept(entries),
    ...checkUses(entries),
    ...checkElsewhere(entries),
  ]
}

/** Keys and values are those of a table. */
function checkTable(key: string, { type }: StateValue): string[] {
  const table = tableOf(key)
  const parts = key.split('/').length - 1
  const least = table.key.filter((part) => !part.endsWith('?')).length
  const complaints: string[] = []
  if (type !== table.type) complaints.push(`a ${type} in the table of ${table.type}`)
  if (parts < least || parts > table.key.length) complaints.push(`it has ${parts} parts`)
  return complaints
}

/**
 * Dependents, those that block, those of them that wait, and those of a kind that is no longer
 * served.
 */
type Counted = readonly [number, number, number, number]

const NONE: Counted = [0, 0, 0, 0]

/** The values that follow from the nodes. */
interface Expected {
  /** Their keys. */
  readonly edges: Set<string>
  /** By the key of the count. */
  readonly counts: Map<string, Counted>
  /** The uids of each kind, by the key of `Members`. */
  readonly members: Map<string, SetHash>
  /** The reason that holds each node, by its key. */
  readonly waiting: Map<string, string>
  /** The sets that wait for approval, by key. */
  readonly plans: Map<string, SetHash>
  /** Of each cluster, by its key of `RuleTurns`. */
  readonly turns: Map<string, ExpectedTurns>
  /** Live GETs of owners under way, by the key of their count. */
  readonly gets: Map<string, number>
}

/** The earliest timer of each subject, and of each cluster. */
interface Timers {
  readonly subjects: ReadonlyMap<string, number>
  readonly earliest: ReadonlyMap<string, number>
}

function timersOf(entries: Entries): Timers {
  const subjects = new Map<string, number>()
  const earliest = new Map<string, number>()
  for (const [key, value] of entries) {
    if (value.type !== 'Due') continue
    const [, cluster = '', , what = '', subject = ''] = key.split('/')
    const time = timeOfDueKey(key)
    const about = `${cluster}/${what}/${subject}`
    subjects.set(about, Math.min(subjects.get(about) ?? time, time))
    earliest.set(cluster, Math.min(earliest.get(cluster) ?? time, time))
  }
  return { subjects, earliest }
}

/** Whether there is a timer for the subject, of that time or before it: any by default. */
function hasTimer(
  timers: Timers,
  cluster: ClusterId,
  timer: Timer,
  latest: number = Number.MAX_SAFE_INTEGER,
): boolean {
  const [, encoded = '', , , part = ''] = dueKey(cluster, 0, timer).split('/')
  const time = timers.subjects.get(`${encoded}/${timer.type}/${part}`)
  return time !== undefined && time <= latest
}

function checkOne(
  graph: StateReader,
  timers: Timers,
  expected: Expected,
  key: string,
  value: StateValue,
): string[] {
  switch (value.type) {
    case 'Node': {
      const cluster = clusterInKey(key)
      expect(expected, cluster, value)
      return checkNode(graph, timers, cluster, value)
    }
    case 'Seen':
    case 'Wait':
      return factsOf(graph, clusterInKey(key)).node(lastPart(key)) === undefined
        ? ['its node left']
        : []
    case 'Owner': {
      const [, , uid = '', place = ''] = key.split('/')
      const cluster = clusterInKey(key)
      const owner = decodeURIComponent(uid)
      const lane = countedFor(factsOf(graph, cluster), value.known)
      if (lane !== '') {
        const counted = getsKey(cluster, lane)
        expected.gets.set(counted, (expected.gets.get(counted) ?? 0) + 1)
      }
      const node = factsOf(graph, cluster).node(owner)
      const complaints: string[] = []
      if (node !== undefined && coordinatesPart(node.object) === place) {
        complaints.push('it is a node at these coordinates, too')
      }
      if (!hasTimer(timers, cluster, { type: 'owner', uid: owner, place: coordinatesIn(place) })) {
        complaints.push('no timer')
      }
      return complaints
    }
    case 'ClusterState': {
      const earliest = timers.earliest.get(key.slice(key.indexOf('/') + 1))
      return earliest !== undefined && earliest < value.nextDue ? ['a timer is due before'] : []
    }
    case 'Work': {
      const lane = graph.get(laneKey(clusterInKey(key), value.namespace))
      return isWaiting(lane) ? [] : ['work that no agenda holds']
    }
    case 'Lane':
      return isWaiting(value) ? [] : ['work that no agenda holds']
    case 'LaneTurn':
    case 'Queued':
      return ['work that no agenda holds']
    case 'Verification': {
      const node = factsOf(graph, clusterInKey(key)).node(lastPart(key))
      if (node === undefined) return ['its node left']
      return value.isQueued || node.verdict?.type === 'verify' ? [] : ['nothing is verified for it']
    }
    case 'Ring':
    case 'RingVisit':
      return ['a walk that no agenda goes on with']
    case 'Directives':
      return checkOrders(graph, value)
    case 'RuleRun':
      return checkRun(factsOf(graph, clusterInKey(key)), ruleInKey(key), value)
    case 'RuleOwner':
      return checkRuleOwner(factsOf(graph, clusterInKey(key)), ruleInKey(key), value)
    case 'ClusterRules':
      return checkClusterRules(factsOf(graph, clusterInKey(key)))
    case 'PolicyRule': {
      const known = factsOf(graph, clusterInKey(key)).clusterRules?.policies ?? []
      return known.some(({ uid }) => uid === lastPart(key)) ? [] : ['no index has it']
    }
    default:
      return []
  }
}

/** It has work left, and waits for live GETs. */
function isWaiting(lane: StateValue | undefined): boolean {
  return lane?.type === 'Lane' && lane.isParked
}

function checkNode(graph: StateReader, timers: Timers, cluster: ClusterId, node: Node): string[] {
  const { object, attempt } = node
  const complaints = [...faultsOf(factsOf(graph, cluster), node)]
  const isAwaited = attempt !== null && attempt.state !== 'would-go' && attempt.state !== 'done'
  const hasNodeTimer = hasTimer(timers, cluster, { type: 'node', uid: object.uid })
  // One that was restored, or may have changed in a record that was lost, is judged when it is
  // listed again: then its command is tried anew, and its hold begins anew.
  const isJudged = relistsAwaited(factsOf(graph, cluster), node)?.length === 0
  if (isAwaited && isJudged && !hasNodeTimer) complaints.push('its command has no timer')
  const isTimed = node.hold?.until != null && isJudged
  if (isTimed && !hasNodeTimer) complaints.push('its hold has no timer')
  const hasTimerBy = (latest: number): boolean =>
    hasTimer(timers, cluster, { type: 'node', uid: object.uid }, latest)
  const facts = factsOf(graph, cluster)
  return [...complaints, ...checkRuled(facts, node, hasTimerBy), ...checkPolicyNode(facts, node)]
}

function expect(
  { edges, counts, members, waiting, plans, turns }: Expected,
  cluster: ClusterId,
  node: Node,
): void {
  const { object, hold } = node
  const by = listedBy(node)
  if (by !== null) waiting.set(heldKey(cluster, object.uid), by)
  const plan = planKey(cluster)
  if (hold?.by === 'approval') {
    plans.set(plan, withMember(plans.get(plan) ?? EMPTY_SET, memberOf(node)))
  }
  expectTurn(turns, cluster, node)
  const kind = membersKey(cluster, object)
  members.set(kind, withMember(members.get(kind) ?? EMPTY_SET, object.uid))
  for (const [key, { owner, place, blocking, waiting, unserved }] of linksOf(cluster, node)) {
    edges.add(key)
    const counted = countKey(cluster, owner, place)
    const [dependents, blockers, waiters, gone] = counts.get(counted) ?? NONE
    counts.set(counted, [
      dependents + 1,
      blockers + Number(blocking),
      waiters + Number(waiting),
      gone + Number(unserved),
    ])
  }
}

/** Those of an earlier epoch of the cluster count for nothing. */
function getsOfKey(entries: Entries, key: string, { count, clusterEpoch }: Gets): number {
  const state = factsOf({ get: (each) => entries.get(each) }, clusterInKey(key)).state
  return state?.clusterEpoch === clusterEpoch ? count : 0
}

function checkAll(entries: Entries, expected: Expected): string[] {
  const complaints: string[] = [...checkTurns(entries, expected.turns)]
  const counted = new Map<string, Counted>()
  let edges = 0
  for (const [key, value] of entries) {
    if (value.type === 'Edge') {
      edges += 1
      if (!expected.edges.has(key)) complaints.push(`${key}: no node says so`)
    } else if (value.type === 'Members') {
      if (!isSameSet(value.set, expected.members.get(key) ?? EMPTY_SET)) {
        complaints.push(`${key}: it has other uids than the nodes of the kind`)
      }
      expected.members.delete(key)
    } else if (value.type === 'HeldNode') {
      if (expected.waiting.get(key) !== value.by) complaints.push(`${key}: no node is held so`)
      expected.waiting.delete(key)
    } else if (value.type === 'HeldPlan') {
      if (!isSameSet(value.set, expected.plans.get(key) ?? EMPTY_SET)) {
        complaints.push(`${key}: other nodes wait for approval`)
      }
      expected.plans.delete(key)
    } else if (value.type === 'Gets') {
      const isExact = getsOfKey(entries, key, value) === (expected.gets.get(key) ?? 0)
      if (!isExact) complaints.push(`${key}: other GETs are under way`)
      expected.gets.delete(key)
    } else if (value.type === 'Count') {
      const { dependents, blocking, waiting, unserved } = value
      counted.set(key, [dependents, blocking, waiting, unserved])
    }
  }
  if (expected.gets.size > 0) complaints.push('GETs are under way that no key counts')
  for (const key of expected.members.keys()) complaints.push(`${key}: there are nodes of the kind`)
  if (expected.waiting.size > 0) complaints.push('a node is held that no key tells of')
  if (expected.plans.size > 0) complaints.push('nodes wait for approval, and no set has them')
  if (edges !== expected.edges.size) complaints.push('a node lacks an edge')
  for (const key of new Set([...counted.keys(), ...expected.counts.keys()])) {
    const there = (expected.counts.get(key) ?? NONE).join()
    const told = (counted.get(key) ?? NONE).join()
    if (there !== told) complaints.push(`${key}: ${told} dependents counted, there are ${there}`)
  }
  return complaints
}

function ruleInKey(key: string): string {
  return decodeURIComponent(key.split('/')[2] ?? '')
}

function clusterInKey(key: string): ClusterId {
  return decodeURIComponent(key.split('/')[1] ?? '')
}
