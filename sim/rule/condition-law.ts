/**
 * The law of rules that ask about other objects, over a simulated server: whether one may delete an
 * object, by the uses, the Nodes and the newer objects that there were.
 *
 * What must stay true: it follows from the servers' effects alone, and shares no code with the
 * graph. What nothing in the graph could have seen in time is forgiven, by the documented times.
 *
 * Not here: who makes those others (drawn-condition.ts), times of the rule itself (rule-law.ts).
 */
import type { ApiObject, Effect } from '../../adapters/memory/api-server.ts'
import { COMMAND_LIFE_MS } from '../../core/model/constant.ts'
import type { Rule, RuleKeep } from '../../core/model/rule/rule.ts'
import { groupIn } from '../../testing/model/oracle.ts'
import { dueMsOf } from '../../testing/model/rule-oracle.ts'
import type { World } from '../model.ts'
import { isOfLivingOwners } from '../oracle.ts'
import type { Site } from '../site.ts'
import { TENANT } from '../workload.ts'
import { asksOthers } from './drawn-condition.ts'
import { ruledObject } from './ruled-object.ts'

/** A watch may be silent for three minutes and a patience; then a command is on its way. */
const UNSEEN_MS = 4 * 60_000
/** From the reaper's GET of a Node until its DELETE takes effect. */
const ASKED_MS = 30_000

/** Elapsed time. */
interface Span {
  readonly since: number
  /** Infinity while it lasts. */
  until: number
}

interface Past {
  server: unknown
  /** By `KIND NAMESPACE NAME`: when an object used it, or when a Node of that name was there. */
  readonly spans: Map<string, Span[]>
  /** By uid of the user: what it uses now. */
  readonly using: Map<string, ReadonlyMap<string, Span>>
  /** By uid: what may be kept, in each version; null: it was not there. */
  readonly versions: Map<string, { readonly ms: number; readonly object: ApiObject | null }[]>
  /** When a fault had Pods or Nodes unread. */
  readonly unread: Span[]
  restoredMs: number
}

const PASTS = new WeakMap<Site, Past>()

function pastOf(site: Site): Past {
  const known = PASTS.get(site) ?? {
    ...{ server: site.server, spans: new Map(), using: new Map(), versions: new Map() },
    unread: [],
    restoredMs: Number.NEGATIVE_INFINITY,
  }
  PASTS.set(site, known)
  return known
}

/** Of any effect, also while a restore repeats it. */
export function noteOthers(world: World, site: Site, { kind, before, after }: Effect): void {
  if (!world.options.policy.rules.some(asksOthers)) return
  const past = pastOf(site)
  const ms = world.time.monotonicMs()
  if (past.server !== site.server) {
    for (const spans of past.using.values()) end(spans, ms)
    past.using.clear()
    for (const versions of past.versions.values()) versions.push({ ms, object: null })
    ;[past.server, past.restoredMs] = [site.server, ms]
  }
  const { uid } = (after ?? before)!.metadata
  const had = past.using.get(uid) ?? new Map<string, Span>()
  const used = new Map(
    (after === null ? [] : usedBy(after)).map((place) => {
      return [place, had.get(place) ?? begin(past, place, ms)] as const
    }),
  )
  end(new Map([...had].filter(([place]) => !used.has(place))), ms)
  past.using.set(uid, used)
  if (!KEPT.has(kind.kind)) return
  const versions = past.versions.get(uid) ?? []
  past.versions.set(uid, versions)
  // What was so between two writes that a restore repeats was never so.
  if (site.isReplaying && versions.at(-1)?.ms === ms) versions.pop()
  versions.push({ ms, object: after })
}

/** Kinds of rules that keep the newest. */
const KEPT: ReadonlySet<string> = new Set(['ConfigMap', 'Secret', 'ReplicaSet'])

function begin({ spans }: Past, place: string, since: number): Span {
  const span: Span = { since, until: Number.POSITIVE_INFINITY }
  spans.set(place, [...(spans.get(place) ?? []), span])
  return span
}

function end(spans: ReadonlyMap<string, Span>, ms: number): void {
  for (const span of spans.values()) span.until = ms
}

/** From now on, until its end is written. */
export function noteUnread(world: World, site: Site): { until: number } {
  const span = { since: world.time.monotonicMs(), until: Number.POSITIVE_INFINITY }
  pastOf(site).unread.push(span)
  return span
}

/**
 * It came and left while nothing was read, and that was too short for time to begin anew: no watch
 * saw it, and none can.
 */
function wasUnseen({ unread }: Past, { since, until }: Span): boolean {
  return unread.some((span) => {
    const isWithin = span.since <= since && until <= span.until
    return isWithin && span.until - span.since < UNSEEN_MS
  })
}

interface PodSpec {
  readonly volumes?: readonly {
    readonly configMap?: { readonly name: string }
    readonly secret?: { readonly secretName: string }
  }[]
  readonly imagePullSecrets?: readonly { readonly name: string }[]
}

function usedBy({ kind, metadata, spec }: ApiObject & { readonly spec?: unknown }): string[] {
  const { namespace = '', name } = metadata
  if (kind === 'Node') return [`Node  ${name}`]
  const own = spec as (PodSpec & { readonly template?: { readonly spec?: PodSpec } }) | undefined
  const pod = kind === 'Pod' ? own : kind === 'ReplicaSet' ? own?.template?.spec : undefined
  const { volumes = [], imagePullSecrets = [] } = pod ?? {}
  const names = [
    ...volumes.flatMap(({ configMap, secret }) => [
      ...(configMap === undefined ? [] : [`ConfigMap ${namespace} ${configMap.name}`]),
      ...(secret === undefined ? [] : [`Secret ${namespace} ${secret.secretName}`]),
    ]),
    ...imagePullSecrets.map((each) => `Secret ${namespace} ${each.name}`),
  ]
  return [...new Set(names)]
}

/** Why the rule may not delete it, whatever its own times are; empty when it may. */
export function objectionOfOthers(world: World, site: Site, before: ApiObject, rule: Rule): string {
  const past = pastOf(site)
  const now = world.time.monotonicMs()
  return (
    objectionOfUse(past, before, rule, { world, now }) ||
    objectionOfNode(past, before, rule, now) ||
    objectionOfKept(past, before, rule, { world, now })
  )
}

function objectionOfUse(
  past: Past,
  { kind, metadata }: ApiObject,
  { name, unused }: Rule,
  { world, now }: Counting,
): string {
  if (unused === null) return ''
  const { forMs } = unused
  if ((metadata.ownerReferences ?? []).length > 0) return `rule ${name}: it has an owner (I39)`
  const ageMs = world.time.now() - Date.parse(metadata.creationTimestamp)
  if (ageMs < forMs) return `rule ${name}: it is there for ${ageMs} ms, and not ${forMs} (I39)`
  const all = past.spans.get(`${kind} ${metadata.namespace ?? ''} ${metadata.name}`) ?? []
  const used = all.find((span) => {
    const isKnown = span.since < now - UNSEEN_MS && !wasUnseen(past, span)
    return span.until > now - forMs && isKnown
  })
  return used === undefined ? '' : `rule ${name}: it was used ${spanText(used, now)} (I39)`
}

function spanText({ since, until }: Span, now: number): string {
  const end = until > now ? 'is still' : `until ${now - until} ms ago`
  return `since ${now - since} ms ago, ${end}`
}

function objectionOfNode(
  past: Past,
  before: ApiObject,
  { name, absent, forMs }: Rule,
  now: number,
): string {
  if (absent === null) return ''
  const named = ruledObject(before).field(absent.field) ?? ''
  if (named === '') return `rule ${name}: it names no Node (I39)`
  const there = (past.spans.get(`Node  ${named}`) ?? []).find((span) => {
    if (span.until > now) return span.since < now - ASKED_MS
    // A command may be read so late: its decision is of before, and the reaper's GET of now.
    const isKnown = span.since < now - COMMAND_LIFE_MS && !wasUnseen(past, span)
    return span.until > now - forMs && isKnown
  })
  return there === undefined ? '' : `rule ${name}: Node ${named} is there (I39)`
}

interface Counting {
  readonly world: World
  readonly now: number
}

/** Among the last of its group it is where fewer newer ones were due within the unseen time. */
function objectionOfKept(past: Past, before: ApiObject, rule: Rule, counting: Counting): string {
  const { keep, name } = rule
  if (keep === null) return ''
  const group = groupOf(keep, before)
  if (group === undefined) return `rule ${name}: it is in no group (I39)`
  let newer = 0
  for (const versions of past.versions.values()) {
    const isNewer = versions.some(({ object }, index) => {
      if (object === null || object.metadata.uid === before.metadata.uid) return false
      const endMs = versions[index + 1]?.ms ?? Number.POSITIVE_INFINITY
      if (endMs < counting.now - UNSEEN_MS || groupOf(keep, object) !== group) return false
      return isCounted(rule, object, counting) && isAsNew(object, before)
    })
    if (isNewer) newer += 1
  }
  return newer >= keep.newest
    ? ''
    : `rule ${name}: it is one of the newest ${keep.newest}, ${newer} are newer (I39)`
}

function isCounted(rule: Rule, object: ApiObject, { world }: Counting): boolean {
  if (object.metadata.deletionTimestamp !== undefined) return false
  const dueMs = dueMsOf(rule, ruledObject(object))
  return dueMs !== undefined && dueMs <= world.time.now()
}

function isAsNew(a: ApiObject, b: ApiObject): boolean {
  return Date.parse(a.metadata.creationTimestamp) >= Date.parse(b.metadata.creationTimestamp)
}

function groupOf({ by }: RuleKeep, { kind, apiVersion, metadata }: ApiObject): string | undefined {
  const of = `${kind}.${groupIn(apiVersion)}`
  if (by.type === 'cluster') return of
  const { namespace = '', labels = {}, ownerReferences = [] } = metadata
  const within =
    by.type === 'owner'
      ? ownerReferences.find(({ controller }) => controller === true)?.uid
      : by.type === 'label'
        ? labels[by.key]
        : ''
  return within === undefined ? undefined : `${of} ${namespace} ${within}`
}

/** It has been so for so long that it is to be deleted by now, by a rule without others as well. */
export function isLeftByOthers(
  world: World,
  site: Site,
  object: ApiObject,
  { rule, soonMs }: { readonly rule: Rule; readonly soonMs: number },
): boolean {
  if (!asksOthers(rule)) return true
  const past = pastOf(site)
  const now = world.time.monotonicMs()
  const { unused, absent, keep, forMs } = rule
  if (now - past.restoredMs < soonMs + (unused?.forMs ?? 0)) return false
  if (unused !== null) {
    const { ownerReferences = [], creationTimestamp, namespace = '', name } = object.metadata
    const ms = unused.forMs + forMs + soonMs
    if (ownerReferences.length > 0) return false
    if (world.time.now() - Date.parse(creationTimestamp) < ms) return false
    const spans = past.spans.get(`${object.kind} ${namespace} ${name}`) ?? []
    if (spans.some(({ until }) => until > now - ms)) return false
  }
  if (absent !== null) {
    const named = ruledObject(object).field(absent.field) ?? ''
    const spans = past.spans.get(`Node  ${named}`) ?? []
    if (named === '' || spans.some(({ until }) => until > now - forMs - soonMs)) return false
  }
  return keep === null || isBeyond(site, object, { keep, rule, atMs: world.time.now() - soonMs })
}

interface Beyond {
  readonly keep: RuleKeep
  readonly rule: Rule
  readonly atMs: number
}

function isBeyond(site: Site, object: ApiObject, { keep, rule, atMs }: Beyond): boolean {
  const group = groupOf(keep, object)
  if (group === undefined) return false
  const newer = site.all().filter((each) => {
    const isOver = each.metadata.deletionTimestamp !== undefined
    if (isOver || groupOf(keep, each) !== group || isAsNew(object, each)) return false
    // Where an owner is not alive, owners decide, and of a tenant not all is read.
    if (each.metadata.namespace === TENANT || !isOfLivingOwners(site.server, each)) return false
    const dueMs = dueMsOf(rule, ruledObject(each))
    return dueMs !== undefined && dueMs < atMs
  })
  return newer.length >= keep.newest
}
