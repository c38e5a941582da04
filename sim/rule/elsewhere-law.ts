/**
 * The law of rules about owners in other clusters, over the simulated servers: whether one may
 * delete an object, by what became of its owner there, and by who consents.
 *
 * What must stay true: it follows from the servers' effects and from what faults did, and shares no
 * code with the graph. An owner that left with a restore, with its namespace or with the definition
 * of its kind was not deleted, and one that ever orphaned takes nothing along.
 *
 * Not here: who names owners (drawn-elsewhere.ts), the epoch of the owner's cluster
 * (../check/elsewhere-checkers.ts).
 */
import type { ApiObject, Effect } from '../../adapters/memory/api-server.ts'
import type { RuleElsewhere } from '../../core/model/rule/elsewhere.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { groupIn } from '../../testing/model/oracle.ts'
import type { World } from '../model.ts'
import type { Site } from '../site.ts'
import type { Truth } from '../truth.ts'
import { asksElsewhere, isLike, OWNER, WIDGET } from './drawn-elsewhere.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** From the reaper's GET in the owner's cluster until its DELETE takes effect. */
const ASKED_MS = 30_000
/** A cluster that was cut off for so long was not followed, by any process. */
const UNFOLLOWED_MS = 7 * MINUTE
/** From when all runs and nothing is cut off until a deletion is sure to be watched. */
const CALM_MS = 5 * MINUTE

type End = 'there' | 'deleted' | 'orphaned' | 'swept' | 'restored'

/** When it was there. Elapsed time. */
interface Span {
  readonly since: number
  /** Infinity while it lasts. */
  until: number
  end: End
  /** No finalizer held it. */
  isAtOnce: boolean
}

interface Life {
  /** `GROUP/KIND/NAMESPACE/NAME`. */
  readonly place: string
  /** By its server's clock, in whole seconds. */
  readonly createdMs: number
  readonly spans: Span[]
}

interface Cut {
  readonly site: Site
  /** The process that did not reach it; undefined: none did. */
  readonly slot: string | undefined
  readonly since: number
  until: number
}

interface Past {
  /** By site. */
  readonly servers: Map<Site, unknown>
  /** By `CLUSTER/UID`. */
  readonly lives: Map<string, Life>
  readonly cuts: Cut[]
  /** Owners of which no watch showed that they orphaned. */
  readonly unheard: Set<string>
  /** By uid of the cluster. */
  readonly replaced: Map<string, number>
  /** Since when nothing is amiss that would keep a deletion from being watched. */
  calmMs: number
}

const PASTS = new WeakMap<World, Past>()

function pastOf(world: World): Past {
  const known = PASTS.get(world) ?? {
    ...{ servers: new Map(), lives: new Map(), cuts: [], replaced: new Map() },
    unheard: new Set(),
    calmMs: Number.POSITIVE_INFINITY,
  }
  PASTS.set(world, known)
  return known
}

/** Of any effect, also while a restore repeats it. */
export function noteElsewhere(
  world: World,
  site: Site,
  { before, after }: Effect,
  truth: Pick<Truth, 'orphaned' | 'onceOrphaned'>,
): void {
  if (!world.options.policy.rules.some(asksElsewhere)) return
  const past = pastOf(world)
  const now = world.time.monotonicMs()
  noteServer(past, site, now)
  if (before !== null && after !== null) return
  const object = (after ?? before)!
  const { uid } = object.metadata
  const key = `${site.id}/${uid}`
  const createdMs = createdMsOf(object)
  const life = past.lives.get(key) ?? { place: placeOf(object), createdMs, spans: [] }
  past.lives.set(key, life)
  const last = life.spans.at(-1)
  if (before === null) {
    const until = Number.POSITIVE_INFINITY
    life.spans.push({ since: now, until, end: 'there', isAtOnce: false })
  } else if (site.isReplaying && last?.since === now) {
    // What was so between two writes that a restore repeats was never so.
    life.spans.pop()
  } else if (last !== undefined) {
    const hasOrphaned = truth.onceOrphaned.has(uid) && !past.unheard.has(uid)
    const isOrphaned = truth.orphaned.has(uid) || hasOrphaned
    ;[last.until, last.end] = [now, isOrphaned ? 'orphaned' : endOf(site, object)]
    last.isAtOnce = object.metadata.deletionTimestamp === undefined
  }
}

function createdMsOf({ metadata }: ApiObject): number {
  return Date.parse(metadata.creationTimestamp)
}

/** Of one that leaves, and orphans nothing. */
function endOf(site: Site, { apiVersion, metadata }: ApiObject): End {
  const named = { group: groupIn(apiVersion), namespace: metadata.namespace ?? '' }
  const isWhole = aroundOf(site, named).every((each) => {
    return each !== undefined && each.metadata.deletionTimestamp === undefined
  })
  return isWhole ? 'deleted' : 'swept'
}

/** Its namespace, and the definition of its kind, as they are there now. */
function aroundOf(
  { server }: Site,
  { group, namespace }: Pick<Named, 'group' | 'namespace'>,
): readonly (ApiObject | undefined)[] {
  const definitions = ['apiextensions.k8s.io', 'customresourcedefinitions', ''] as const
  return [
    ...(namespace === '' ? [] : [server.object('', 'namespaces', '', namespace)]),
    ...(group === WIDGET.group ? [server.object(...definitions, `widgets.${group}`)] : []),
  ]
}

/** A watch left out that this owner orphans, which an API server never does. */
export function noteUnheard(world: World, uid: string): void {
  pastOf(world).unheard.add(uid)
}

/** What was there before a restore left with it, and mostly comes again. */
function noteServer(past: Past, site: Site, now: number): void {
  const former = past.servers.get(site)
  past.servers.set(site, site.server)
  if (former === undefined || former === site.server) return
  for (const [key, { spans }] of past.lives) {
    const last = spans.at(-1)
    if (!key.startsWith(`${site.id}/`) || last?.end !== 'there') continue
    ;[last.until, last.end] = [now, 'restored']
  }
}

/** From now on, until its end is written. `slot`: for this process alone. */
export function noteCut(world: World, site: Site, slot?: string): { until: number } {
  const since = world.time.monotonicMs()
  const cut = { site, slot, since, until: Number.POSITIVE_INFINITY }
  pastOf(world).cuts.push(cut)
  return cut
}

/** A cluster of that uid is no more. */
export function noteReplaced(world: World, cluster: string): void {
  pastOf(world).replaced.set(cluster, world.time.monotonicMs())
}

export function isReplaced(world: World, cluster: string): boolean {
  return pastOf(world).replaced.has(cluster)
}

/** Everything healed, or a process started since. */
export function noteCalm(world: World): void {
  pastOf(world).calmMs = world.time.monotonicMs()
}

interface Named {
  readonly cluster: string
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly place: string
  readonly uid: string
}

function namedBy({ metadata }: ApiObject): Named | undefined {
  const text = metadata.annotations?.[OWNER] ?? ''
  const found = /^([^/\s]+)\/(([^/\s]*)\/([^/\s]+)\/([^/\s]*)\/[^/\s]+)\/([^/\s]+)$/.exec(text)
  if (found === null) return undefined
  const [, cluster = '', place = '', group = '', kind = '', namespace = '', uid = ''] = found
  return { cluster, place, group, kind, namespace, uid }
}

function placeOf({ apiVersion, kind, metadata }: ApiObject): string {
  return [groupIn(apiVersion), kind, metadata.namespace ?? '', metadata.name].join('/')
}

/** With both sides' consent. */
function isShared(elsewhere: RuleElsewhere, named: Named, dependents: string): boolean {
  const isAmong = ({ kinds, namespaces }: Pick<RuleElsewhere, 'kinds' | 'namespaces'>): boolean => {
    const isKind = kinds.some(({ group, kind }) => group === named.group && kind === named.kind)
    return isKind && namespaces.some((each) => isLike(named.namespace, each))
  }
  const { cluster, exports } = elsewhere
  if (named.cluster !== cluster || !isAmong(elsewhere)) return false
  return exports.some((each) => each.to.includes(dependents) && isAmong(each))
}

/** Why the rule may not have this process delete it, whatever its times are; empty when it may. */
export function objectionOfElsewhere(
  world: World,
  site: Site,
  before: ApiObject,
  { rule, by }: { readonly rule: Rule; readonly by: string },
): string {
  const { elsewhere, name } = rule
  if (elsewhere === null) return ''
  const objection = (text: string): string => `rule ${name}: ${text} (I42)`
  if ((before.metadata.ownerReferences ?? []).length > 0) return objection('it has an owner here')
  const named = namedBy(before)
  if (named === undefined) return objection('it names no owner elsewhere')
  if (!isShared(elsewhere, named, site.id)) return objection('its owner is not shared')
  const now = world.time.monotonicMs()
  const text = objectionOfLife(world, named, now) || objectionOfCut(world, named, by)
  return text === '' ? '' : objection(text)
}

function objectionOfLife(world: World, named: Named, now: number): string {
  const { cluster, uid, place } = named
  const life = pastOf(world).lives.get(`${cluster}/${uid}`)
  const last = life?.spans.findLast((span) => {
    return span.since < now - ASKED_MS && !isUnseen(world, cluster, span)
  })
  if (life === undefined || last === undefined) return 'no such owner was there'
  if (life.place !== place) return `its owner is ${life.place}`
  const isTold =
    last.end === 'deleted' || (last.end === 'swept' && isOfOneSecond(world, named, life))
  if (!isTold) return `its owner is ${last.end}, since ${now - last.until} ms`
  const ms = now - last.until
  return ms < HOUR ? `its owner was deleted ${ms} ms ago` : ''
}

/**
 * It began and ended while its cluster could not be reached, so no process can know of it: a
 * restore that no version shows afterwards brought the owner back, and it left once more.
 */
function isUnseen(world: World, cluster: string, { since, until }: Span): boolean {
  return pastOf(world).cuts.some((cut) => {
    const isOfAll = cut.site.id === cluster && cut.slot === undefined
    return isOfAll && cut.since <= since && until <= cut.until
  })
}

/**
 * What was around it was made again within the second in which it was made: no clock tells that. A
 * real namespace takes five seconds to leave.
 */
function isOfOneSecond(world: World, named: Named, { createdMs }: Life): boolean {
  const site = world.sites.find(({ id }) => id === named.cluster)
  const around = site === undefined ? [] : aroundOf(site, named)
  return around.every((each) => each !== undefined && createdMsOf(each) <= createdMs)
}

function objectionOfCut(world: World, { cluster }: Named, by: string): string {
  const { replaced, cuts } = pastOf(world)
  const now = world.time.monotonicMs()
  if ((replaced.get(cluster) ?? now) < now - ASKED_MS)
    return 'the cluster of its owner was replaced'
  for (const { site, slot, since, until } of cuts) {
    if (site.id !== cluster || (slot !== undefined && !by.startsWith(`${slot}.`))) continue
    if (since < now - ASKED_MS && until > now) return 'its owner could not be asked for'
    const isLong = slot === undefined && Math.min(until, now) - since > UNFOLLOWED_MS
    if (isLong && until > now - HOUR) return 'the cluster of its owner was not followed for an hour'
  }
  return ''
}

/** Wall time at which its owner left; 0 by a rule that does not ask. */
export function goneElsewhereMs(world: World, object: ApiObject, { elsewhere }: Rule): number {
  const named = elsewhere === null ? undefined : namedBy(object)
  if (named === undefined) return 0
  const last = pastOf(world).lives.get(`${named.cluster}/${named.uid}`)?.spans.at(-1)
  return (last?.until ?? 0) + world.time.now() - world.time.monotonicMs()
}

/** Nothing was in the way for so long that it is to be deleted by now. */
export function isLeftElsewhere(
  world: World,
  site: Site,
  object: ApiObject,
  { rule, soonMs }: { readonly rule: Rule; readonly soonMs: number },
): boolean {
  if (rule.elsewhere === null) return true
  const named = namedBy(object)
  if (named === undefined || objectionOfElsewhere(world, site, object, { rule, by: '' }) !== '') {
    return false
  }
  const { lives, calmMs } = pastOf(world)
  const life = lives.get(`${named.cluster}/${named.uid}`)
  const last = life?.spans.at(-1)
  // One that a finalizer held was perhaps not watched whole; what was around it may have left.
  if (life === undefined || last?.isAtOnce !== true || !isStillAround(world, named, life)) {
    return false
  }
  const { until: goneMs } = last
  const now = world.time.monotonicMs()
  const createdMs = Date.parse(object.metadata.creationTimestamp) - world.time.now() + now
  return createdMs < goneMs && goneMs > calmMs + CALM_MS && now - goneMs > soonMs
}

function isStillAround(world: World, named: Named, { createdMs }: Life): boolean {
  const site = world.sites.find(({ id }) => id === named.cluster)
  const around = site === undefined ? [undefined] : aroundOf(site, named)
  return around.every((each) => {
    if (each === undefined || each.metadata.deletionTimestamp !== undefined) return false
    return createdMsOf(each) <= createdMs
  })
}
