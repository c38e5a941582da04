/**
 * Rules about owners in other clusters, and the people who name such owners and delete them.
 *
 * What must stay true: rules and acts are drawn apart from everything else of a world, so a world
 * of a smaller seed is what it was. A drawn rule names clusters as a config file does; what they
 * are is known with the world.
 *
 * Not here: whether such a rule may delete an object (elsewhere-law.ts).
 */
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import type { GroupKind } from '../../core/model/object.ts'
import type { OwnerExport, RuleElsewhere } from '../../core/model/rule/elsewhere.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { groupIn } from '../../testing/model/oracle.ts'
import type { Chance } from '../../testing/seeded.ts'
import type { Site } from '../site.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const CONFIG_MAP: GroupKind = { group: '', kind: 'ConfigMap' }
const SECRET: GroupKind = { group: '', kind: 'Secret' }
const REPLICA_SET: GroupKind = { group: 'apps', kind: 'ReplicaSet' }
export const WIDGET: GroupKind = { group: 'example.com', kind: 'Widget' }
const KINDS: readonly [GroupKind, ...GroupKind[]] = [CONFIG_MAP, SECRET, REPLICA_SET]
const NAMESPACES: readonly [string, ...string[]] = ['blue', 'green', 'red']
export const OWNER = 'kinfold.io/owner'
const MERGE = 'application/merge-patch+json'
/** Of some owners: a finalizer of their own. */
const HOLD = 'example.com/hold'
const HELD = 0.3

export function asksElsewhere({ elsewhere }: Pick<Rule, 'elsewhere'>): boolean {
  return elsewhere !== null
}

/** One or two. */
export function elsewhereRules(chance: Chance, clusters: number): readonly Rule[] {
  const names = Array.from({ length: clusters }, (_, index) => `cluster-${index + 1}`)
  const first = chance.below(clusters)
  const both = chance.next() < 0.5 ? [first] : [first, (first + 1) % clusters]
  return both.map((index, count) => ruleOf(`far-${count + 1}`, names, index, chance))
}

function ruleOf(name: string, clusters: readonly string[], of: number, chance: Chance): Rule {
  const cluster = clusters[of] ?? ''
  const others = clusters.filter((each) => each !== cluster)
  const kinds = chance.pick([[CONFIG_MAP, SECRET], KINDS, [CONFIG_MAP]])
  const owners = {
    kinds: chance.next() < 0.5 ? kinds : [...kinds, WIDGET],
    namespaces: chance.pick([['blue'], ['blue', 'gr*'], NAMESPACES]),
  }
  const exports = exportsOf(owners, others, chance)
  return {
    name,
    match: {
      kinds: chance.pick([[CONFIG_MAP, SECRET], KINDS, [SECRET]]),
      namespaces: chance.pick([['blue'], ['blue', 'green'], ['green', 'r*']]),
      ...{ labels: [], annotations: [], exceptNamespaces: [] },
      ...{ expression: null, owner: null, terminating: false },
    },
    cases: [{ fields: [], since: { type: 'created' }, after: { type: 'fixed', ms: 0 } }],
    propagationPolicy: chance.pick(['Background', 'Background', 'Orphan'] as const),
    ...{ gracePeriodSeconds: null, failFirst: false, account: null, forMs: HOUR },
    ...{ keep: null, absent: null, beside: null, unused: null, annotate: null },
    elsewhere: { cluster, ...owners, exports },
    warnMs: chance.pick([0, 0, 0, 2 * MINUTE]),
    limit: chance.pick([null, null, { perHour: 5 + chance.below(20), percent: 60 }]),
  }
}

/** Mostly what is imported; sometimes less, other namespaces, one cluster alone, or nothing. */
function exportsOf(
  owners: Pick<OwnerExport, 'kinds' | 'namespaces'>,
  others: readonly string[],
  chance: Chance,
): readonly OwnerExport[] {
  const to = others
  const lot = chance.below(20)
  if (lot === 0) return []
  if (lot === 1) return [{ ...owners, to: others.slice(0, -1).concat('cluster-9') }]
  if (lot < 4) return [{ ...owners, kinds: owners.kinds.slice(0, 1), to }]
  if (lot < 6) return [{ ...owners, namespaces: ['green'], to }]
  if (lot < 9) return [{ ...owners, namespaces: ['b*'], to: others.slice(0, 1) }]
  return [{ ...owners, to }]
}

/** As a config file is read: names of clusters become their uids. */
export function withUids(rule: Rule, sites: readonly Pick<Site, 'name' | 'id'>[]): Rule {
  if (rule.elsewhere === null) return rule
  const uidOf = (name: string): string => sites.find((each) => each.name === name)?.id ?? name
  const { cluster, exports, ...rest } = rule.elsewhere
  const own = exports.map((each) => ({ ...each, to: each.to.map(uidOf) }))
  const elsewhere: RuleElsewhere = { ...rest, cluster: uidOf(cluster), exports: own }
  return { ...rule, elsewhere }
}

/** As the annotation has it. */
export function ownerText(cluster: string, { apiVersion, kind, metadata }: ApiObject): string {
  const { namespace = '', name, uid } = metadata
  return [cluster, groupIn(apiVersion), kind, namespace, name, uid].join('/')
}

/** Where owners are that both sides share, with some cluster. */
export function sharedPlaces({
  kinds,
  namespaces,
  exports,
}: RuleElsewhere): readonly Omit<Place, 'name'>[] {
  const isAmong = (namespace: string, patterns: readonly string[]): boolean =>
    patterns.some((each) => isLike(namespace, each))
  return NAMESPACES.filter((each) => isAmong(each, namespaces)).flatMap((namespace) => {
    return kinds
      .filter(({ group, kind }) =>
        exports.some((each) => {
          const isKind = each.kinds.some((it) => it.group === group && it.kind === kind)
          return isKind && isAmong(namespace, each.namespaces)
        }),
      )
      .map((kind) => ({ kind, namespace }))
  })
}

/** An owner that was made, and where. */
export interface Made {
  readonly site: Site
  /** Of that cluster, when it was made. */
  readonly cluster: string
  readonly object: ApiObject
}

/** What is to be made, or was. */
interface Place {
  readonly kind: GroupKind
  readonly namespace: string
  readonly name: string
}

/** Who makes owners and dependents of one rule, in all clusters. */
export class AcrossUsers {
  readonly #sites: readonly Site[]
  readonly #home: Site
  readonly #rule: Rule
  readonly #elsewhere: RuleElsewhere
  readonly #chance: Chance
  readonly #owners: Made[] = []
  #count = 0

  constructor(sites: readonly Site[], rule: Rule, elsewhere: RuleElsewhere, chance: Chance) {
    this.#sites = sites
    this.#home = sites.find(({ id }) => id === elsewhere.cluster) ?? sites[0]!
    this.#rule = rule
    this.#elsewhere = elsewhere
    this.#chance = chance
  }

  begin(): void {
    for (let i = 0; i < 4; i++) this.#makeFamily()
  }

  /** Until the next act: sooner in the first half hour, since what is deleted waits an hour. */
  nextMs(atMs: number): number {
    return (atMs < 30 * MINUTE ? 10 : 60) * SECOND + this.#chance.below(90) * SECOND
  }

  act(): void {
    const lot = this.#chance.below(100)
    if (lot < 15) this.#makeFamily()
    else if (lot < 42) this.#makeDependent()
    else if (lot < 69) this.#deleteOwner()
    else if (lot < 77) this.#releaseOwner()
    else if (lot < 85) this.#remakeOwner()
    else if (lot < 95) this.#renameOwner()
    else this.#deleteDependent()
  }

  /** Some of those that are there. */
  deleteOwners(): void {
    for (let i = 0; i < 6; i++) this.#deleteOwner()
  }

  /** An owner that both sides share where they do, with dependents. */
  #makeFamily(): void {
    const owner = this.makeOwner()
    if (owner === undefined) return
    for (let i = this.#chance.below(3); i >= 0; i--) this.makeDependent(owner)
  }

  makeOwner(): Made | undefined {
    const { kinds, namespaces } = this.#elsewhere
    const chance = this.#chance
    const isOther = chance.next() < 0.1
    const kind = isOther ? chance.pick(KINDS) : among(kinds, chance)
    const namespace = isOther ? chance.pick(NAMESPACES) : oneLike(namespaces, chance)
    const place = { kind, namespace, name: this.#newName('x') }
    return this.#make(this.#home, place, chance.next() < HELD)
  }

  /** Both sides share it; `isHeld`: with a finalizer of its own. Undefined where there is none. */
  makeShared(isHeld: boolean, isOf: (kind: GroupKind) => boolean = () => true): Made | undefined {
    const places = sharedPlaces(this.#elsewhere).filter(({ kind }) => isOf(kind))
    const place = places[this.#chance.below(places.length)]
    if (place === undefined) return undefined
    return this.#make(this.#home, { ...place, name: this.#newName('x') }, isHeld)
  }

  #newName(letter: string): string {
    return `${letter}${++this.#count}-${this.#rule.name}`
  }

  #make(site: Site, place: Place, isHeld = false): Made | undefined {
    const { group, kind } = place.kind
    // Of custom kinds the server wants it said.
    const type = group === WIDGET.group ? { apiVersion: `${group}/v1`, kind } : {}
    const metadata = { name: place.name, finalizers: isHeld ? [HOLD] : [] }
    site.user('POST', pathTo(place), { ...type, metadata })
    const object = objectAt(site, place)
    if (object === undefined) return undefined
    const made = { site, cluster: site.id, object }
    this.#owners.push(made)
    return made
  }

  /** One of its own cluster, by an owner reference: orphaned before a finalizer is taken off. */
  makeNear({ site, object }: Made): void {
    const { apiVersion, kind, metadata } = object
    const { namespace = '', name, uid } = metadata
    const ownerReferences = [{ apiVersion, kind, name, uid }]
    const place = { kind: CONFIG_MAP, namespace }
    site.user('POST', pathTo(place), { metadata: { name: this.#newName('z'), ownerReferences } })
  }

  /** One more that names it, in any cluster; undefined where its namespace is not there. */
  makeDependent(owner: Made): ApiObject | undefined {
    return this.#dependent(ownerText(owner.cluster, owner.object))
  }

  #dependent(text: string): ApiObject | undefined {
    const chance = this.#chance
    const others = this.#sites.filter((site) => site !== this.#home)
    const site = chance.next() < 0.05 ? this.#home : among(others, chance)
    const { kinds, namespaces } = this.#rule.match
    const isOther = chance.next() < 0.05
    const kind = isOther ? chance.pick(KINDS) : among(kinds, chance)
    const namespace = isOther ? chance.pick(NAMESPACES) : oneLike(namespaces, chance)
    const place = { kind, namespace, name: this.#newName('y') }
    const metadata = { name: place.name, annotations: { [OWNER]: text } }
    site.user('POST', pathTo(place), { metadata })
    return objectAt(site, place)
  }

  #makeDependent(): void {
    const text = this.#name()
    if (text !== undefined) this.#dependent(text)
  }

  /** Of an owner that is there, or was; three of ten are wrong. */
  #name(): string | undefined {
    const chance = this.#chance
    const owner = this.#owners[chance.below(this.#owners.length)]
    if (owner === undefined) return undefined
    const right = ownerText(owner.cluster, owner.object)
    return chance.next() < 0.7 ? right : this.#wrong(right)
  }

  #wrong(right: string): string {
    const chance = this.#chance
    const parts = right.split('/')
    const other = (index: number, text: string): string => parts.with(index, text).join('/')
    return chance.pick<() => string>([
      () => other(4, `${parts[4]}-no`),
      () => other(2, parts[2] === 'Secret' ? 'ConfigMap' : 'Secret'),
      () => other(3, parts[3] === 'red' ? 'green' : 'red'),
      () => other(5, `never-${this.#count}`),
      () => other(0, among(this.#sites, chance).id),
      () => other(0, this.#home.name),
      () => parts.slice(1).join('/'),
      () => `${right}/more`,
      () => chance.pick(['', '/', 'none', '//////', ' ', right.replace('/', ' /')]),
      () => other(4, 'x'.repeat(300)),
    ])()
  }

  /** One that is there. */
  #anOwner(): Made | undefined {
    const there = this.#owners.filter(({ site, object }) => isThere(site, object))
    return there[this.#chance.below(there.length)]
  }

  #deleteOwner(): void {
    const owner = this.#anOwner()
    const lot = this.#chance.below(10)
    if (owner === undefined) return
    deleteObject(owner, lot < 6 ? 'Background' : lot < 9 ? 'Orphan' : 'Foreground')
  }

  /** One that is being deleted loses its own finalizer, that of an orphaning, or all. */
  #releaseOwner(): void {
    const held = this.#owners.filter(({ site, object }) => {
      return leftOf(site, object)?.deletionTimestamp !== undefined
    })
    const owner = held[this.#chance.below(held.length)]
    const lot = this.#chance.below(3)
    if (owner !== undefined) takeOff(owner, lot === 0 ? ['orphan'] : lot === 1 ? [HOLD] : [])
  }

  /** The same name, another uid. */
  #remakeOwner(): void {
    const owner = this.#anOwner()
    if (owner === undefined) return
    deleteObject(owner, 'Background')
    this.#make(owner.site, placeOf(owner.object))
  }

  #aDependent(): { readonly site: Site; readonly object: ApiObject } | undefined {
    const site = among(this.#sites, this.#chance)
    const all = site.all().filter(({ metadata }) => metadata.annotations?.[OWNER] !== undefined)
    const object = all[this.#chance.below(all.length)]
    return object === undefined ? undefined : { site, object }
  }

  /** It belongs to another one from now on, to none, or to one of its own cluster. */
  #renameOwner(): void {
    const dependent = this.#aDependent()
    if (dependent === undefined) return
    const { site, object } = dependent
    const chance = this.#chance
    const text = chance.next() < 0.3 ? null : (this.#name() ?? null)
    const near = site.all().find(({ metadata }) => {
      return (
        metadata.namespace === object.metadata.namespace && metadata.uid !== object.metadata.uid
      )
    })
    const { apiVersion = '', kind, metadata } = near ?? {}
    const { name, uid } = metadata ?? {}
    const isOwned = near !== undefined && chance.next() < 0.2
    const change = isOwned
      ? { ownerReferences: [{ apiVersion, kind, name, uid }] }
      : { annotations: { [OWNER]: text } }
    site.user('PATCH', pathOf(object), { metadata: change }, MERGE)
  }

  #deleteDependent(): void {
    const dependent = this.#aDependent()
    if (dependent !== undefined) deleteObject(dependent, 'Background')
  }
}

export function deleteObject(
  { site, object }: { readonly site: Site; readonly object: ApiObject },
  propagationPolicy: string,
): void {
  const { uid } = object.metadata
  site.user('DELETE', pathOf(object), { propagationPolicy, preconditions: { uid } })
}

/** Takes these finalizers off; none: all that it has. */
export function takeOff(
  { site, object }: { readonly site: Site; readonly object: ApiObject },
  those: readonly string[] = [],
): void {
  const has = leftOf(site, object)?.finalizers ?? []
  const finalizers = those.length === 0 ? [] : has.filter((each) => !those.includes(each))
  if (has.length > 0) site.user('PATCH', pathOf(object), { metadata: { finalizers } }, MERGE)
}

export function isThere(site: Site, object: ApiObject): boolean {
  const left = leftOf(site, object)
  return left !== undefined && left.deletionTimestamp === undefined
}

/** Of that object, as it is now. */
function leftOf(site: Site, object: ApiObject): ApiObject['metadata'] | undefined {
  const now = objectAt(site, placeOf(object))
  return now?.metadata.uid === object.metadata.uid ? now.metadata : undefined
}

function placeOf({ apiVersion, kind, metadata }: ApiObject): Place {
  const { namespace = '', name } = metadata
  return { kind: { group: groupIn(apiVersion), kind }, namespace, name }
}

function objectAt(site: Site, { kind, namespace, name }: Place): ApiObject | undefined {
  return site.server.object(kind.group, resourceOf(kind), namespace, name)
}

function resourceOf({ kind }: GroupKind): string {
  return `${kind.toLowerCase()}s`
}

/** Of all of its kind there. */
function pathTo({ kind, namespace }: Omit<Place, 'name'>): string {
  const root = kind.group === '' ? '/api/v1' : `/apis/${kind.group}/v1`
  const within = namespace === '' ? '' : `/namespaces/${namespace}`
  return `${root}${within}/${resourceOf(kind)}`
}

function pathOf(object: ApiObject): string {
  return `${pathTo(placeOf(object))}/${object.metadata.name}`
}

function among<T>(all: readonly T[], chance: Chance): T {
  return all[chance.below(all.length)] as T
}

function oneLike(patterns: readonly string[], chance: Chance): string {
  const all = NAMESPACES.filter((name) => patterns.some((each) => isLike(name, each)))
  return among(all.length === 0 ? NAMESPACES : all, chance)
}

/** A pattern ends with `*`, or has none. */
export function isLike(text: string, pattern: string): boolean {
  return pattern.endsWith('*') ? text.startsWith(pattern.slice(0, -1)) : text === pattern
}
