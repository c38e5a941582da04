/**
 * Since when it is known what objects use: whether any rule asks, the walk over all objects of the
 * kinds that may use others, and breaks of their watches.
 *
 * What must stay true: time counts from where every use was seen. A list that follows a silence may
 * miss a user that came and left meanwhile, so time begins anew with it; a watch that goes on where
 * it was has missed none. What begins anew is one kind, or one cluster, never what is known of
 * others.
 *
 * Not here: the rows themselves (graph/rule/use-index.ts).
 */
import { enqueue, judgeWaiters } from '../graph/agenda.ts'
import { isFresh, isMissing, kindStatus, watchedAt } from '../graph/kind-status.ts'
import type { Step } from '../graph/outcome.ts'
import { subjectOf } from '../graph/row.ts'
import { indexUses, timeOf, useWait } from '../graph/rule/use-index.ts'
import { KEYS_PER_PAGE, KIND_SILENT_MS, SILENCE_CLEARED_MS } from '../model/constant.ts'
import { hash64 } from '../model/hash.ts'
import type { GroupKind } from '../model/object.ts'
import { type Rule, unusedIn } from '../model/rule/rule.ts'
import type { ClusterState, FollowedUse, Kind, UseKind, UsesTodo, Using } from '../model/state.ts'
import { isSameKind, nameOf, useReadsOf, usersOf } from '../model/use/use.ts'

/** What rules ask, at each sign of life of the watcher. */
export function noteUseRules(step: Step): void {
  const { using, rules, policy } = step.graph
  const wanted = wantedBy(rules)
  if (wanted === null && using === undefined) return
  const table = wanted === null ? '' : `${wanted.table}@${policy.position}`
  if (using?.table !== table) begin(step, table, wanted)
}

function begin(step: Step, table: string, wanted: Wanted | null): void {
  const { using } = step.graph
  const since = timeOf(step)
  const used = (wanted?.used ?? []).map((each): FollowedUse => {
    const known = using?.used.find((one) => isSameKind(one, each) && one.table === each.table)
    return known ?? { ...each, since }
  })
  const kinds = distinct([...(using?.kinds ?? []), ...(wanted?.kinds ?? [])])
  const { lostAt = -1n } = using ?? {}
  step.graph.setUsing({ type: 'Using', table, kinds, used, lostAt })
  judgeWaiters(step, useWait(''))
  for (const kind of kinds) enqueue(step, { todo: { type: 'uses', kind, table } })
}

interface Wanted {
  readonly table: string
  /** Users, and what they use. */
  readonly kinds: readonly GroupKind[]
  readonly used: readonly Omit<FollowedUse, 'since'>[]
}

const WANTED = new WeakMap<readonly Rule[], Wanted | null>()

function wantedBy(rules: readonly Rule[]): Wanted | null {
  const known = WANTED.get(rules)
  if (known !== undefined) return known
  const asked = unusedIn(rules)
  const wanted = asked.length === 0 ? null : made(asked)
  WANTED.set(rules, wanted)
  return wanted
}

function made(asked: ReturnType<typeof unusedIn>): Wanted {
  const usedKinds = distinct(asked.flatMap(({ uses }) => uses.map(({ used }) => used)))
  const used = usedKinds.map((kind) => {
    const keys = usersOf(asked, kind).flatMap((user) => {
      const own = useReadsOf(asked, user).filter((read) => isSameKind(read.used, kind))
      return own.map(({ key }) => `${nameOf(user)} ${key}`)
    })
    return { ...kind, table: hash64(JSON.stringify(keys.sort())) }
  })
  const kinds = distinct([...usersOf(asked), ...usedKinds])
  return { table: hash64(JSON.stringify(used)), kinds, used }
}

function distinct(kinds: readonly GroupKind[]): readonly GroupKind[] {
  return [
    ...new Map(kinds.map(({ group, kind }) => [nameOf({ group, kind }), { group, kind }])).values(),
  ]
}

/** One page of the objects of a kind; whether it was the last. */
export function followUses(step: Step, todo: UsesTodo, keys: readonly string[]): boolean {
  const { graph } = step
  for (const key of keys) {
    const node = graph.node(subjectOf(key))
    if (node !== undefined) indexUses(step, node)
  }
  if (keys.length === KEYS_PER_PAGE) return false
  if (graph.using !== undefined) endWalk(step, graph.using, todo)
  return true
}

function endWalk(step: Step, using: Using, { kind, table }: UsesTodo): void {
  const { graph } = step
  const isWanted = wantedBy(graph.rules)?.kinds.some((each) => isSameKind(each, kind)) ?? false
  if (isWanted || table !== using.table) {
    const known = graph.useKind(kind) ?? begunAt(step, kind)
    graph.setUseKind(kind, { ...known, table })
    return judgeWaiters(step, useWait(''))
  }
  graph.setUseKind(kind, null)
  const kinds = using.kinds.filter((each) => !isSameKind(each, kind))
  graph.setUsing(kinds.length === 0 ? null : { ...using, kinds })
}

/** Heartbeats may lack it by then. */
function begunAt(step: Step, kind: GroupKind): UseKind {
  const { graph } = step
  const { state } = graph
  const since = timeOf(step)
  const isGone = state !== undefined && isMissing(graph.kind(kind), kind, state)
  return { type: 'UseKind', table: '', since, silentAt: 0, missingAt: isGone ? since : 0 }
}

/** A list begins: `kind` as it was before. */
export function noteUseList(step: Step, state: ClusterState, about: GroupKind, kind: Kind): void {
  const known = followed(step, about)
  if (known === undefined) return
  // Where the whole cluster was out of sight, the list comes before any sign of life.
  const now = timeOf(step)
  const isSilent = kindStatus(kind, about, { ...state, now }).type === 'silent'
  const isBecause = known.silentAt > 0 && now < known.silentAt + SILENCE_CLEARED_MS
  if (isSilent || isBecause || wasMissing(known, now)) beginAnew(step, about, known)
}

/** A list is finished: `kind` as it was before. */
export function noteUseListed(step: Step, state: ClusterState, about: GroupKind, kind: Kind): void {
  const known = followed(step, about)
  const isSynced = kind.phase === 'synced' && kind.clusterEpoch === state.clusterEpoch
  const isLost = kind.syncedAt <= (step.graph.using?.lostAt ?? -1n)
  if (known !== undefined && (!isSynced || isLost)) beginAnew(step, about, known)
}

function beginAnew(step: Step, about: GroupKind, known: UseKind): void {
  // What was missed until then counts no more.
  const since = timeOf(step)
  const missingAt = known.missingAt === 0 ? 0 : since
  step.graph.setUseKind(about, { ...known, since, silentAt: 0, missingAt })
  judgeWaiters(step, useWait(''))
}

function followed({ graph }: Step, kind: GroupKind): UseKind | undefined {
  return graph.using === undefined ? undefined : graph.useKind(kind)
}

/**
 * A sign of life of the watcher: before it, or by it, watches of kinds are found silent, or alive
 * again.
 */
export function noteUseSilence(step: Step, before: ClusterState, after: ClusterState): void {
  const { graph } = step
  for (const about of graph.using?.kinds ?? []) {
    const known = graph.useKind(about)
    if (known === undefined) continue
    noteSilence(step, about, known, [before, after])
    if (!isFresh(before, about) && isFresh(after, about)) judgeWaiters(step, about)
  }
}

function noteSilence(
  { graph }: Step,
  about: GroupKind,
  known: UseKind,
  states: readonly [ClusterState, ClusterState],
): void {
  const [, after] = states
  const { now } = after
  // Whatever became of the kind since: it may be absent from discovery by now.
  const isSilent = states.some((state) => now > (watchedAt(state, about) ?? now) + KIND_SILENT_MS)
  const silentAt = isSilent || wasMissing(known, now) ? now : known.silentAt
  const missingAt = isMissing(graph.kind(about), about, after) ? known.missingAt || now : 0
  if (silentAt === known.silentAt && missingAt === known.missingAt) return
  graph.setUseKind(about, { ...known, silentAt, missingAt })
}

/** For so long that it was as a silence. */
function wasMissing({ missingAt }: UseKind, now: number): boolean {
  return missingAt !== 0 && now > missingAt + KIND_SILENT_MS
}

/** A record was lost: perhaps that of a user, which the next lists show if it is still there. */
export function noteUseLost({ graph, at }: Step): void {
  const { using } = graph
  if (using === undefined) return
  graph.setUsing({ ...using, lostAt: at.position })
}
