/**
 * Finds objects by cluster, kind, namespace and name: those that have a name now, and those that
 * had it, the last deleted first.
 *
 * What must stay true: what exists has a key of its own ("there"), so however many had its name
 * before, it is found by one search. Who reads a part is told what kind of part: `lacks`. A former
 * object is found around the moment that is asked for, since only one of them existed then. Beside
 * these keys each object has one that nothing moves ("name"), for lists that are read in pages.
 *
 * Not here: reading the log, and what else is known of an object (history-index.ts).
 */
import type { ClusterId, Coordinates, OwnerReference, Uid } from '../../../../core/model/object.ts'
import { entriesIn, prefixRange, type Store } from '../../../../ports/store.ts'
import { part } from './index-key.ts'
import { changesBetween, MOST_CHANGES } from './near-word.ts'

export interface Named {
  readonly cluster: ClusterId
  readonly uid: Uid
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** Append time of the last event about it, in milliseconds. */
  readonly at: number
}

/** A reference. `isUnresolvable`: no edge leads to what it names. */
export interface NamedOwner extends Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'> {
  readonly isUnresolvable?: true
}

export interface Indexed extends Named {
  /** It was gone then. */
  readonly isGone: boolean
  /** As it named them last; of a long list the first ones. */
  readonly owners: readonly NamedOwner[]
  /** How many are behind those; left out for none. */
  readonly moreOwners?: number | undefined
}

/**
 * - `nothing`. - `former`: objects that had the name and were deleted longer ago than those found
 * (or later, where a moment is asked for). - `any`: also objects that have it now.
 */
export type Lacks = 'nothing' | 'former' | 'any'

export interface NamesFound {
  readonly found: readonly Indexed[]
  readonly lacks: Lacks
}

/** Of one name. */
export interface NameAsked {
  readonly namespace: string
  readonly name: string
  /** Undefined: in all. */
  readonly cluster?: ClusterId | undefined
  /**
   * Of those that were deleted, the ones before this time and after it, in ms. Undefined: the last
   * ones.
   */
  readonly at?: number | undefined
}

export interface NamesListed {
  readonly cluster: ClusterId
  readonly namespaces: readonly string[]
  readonly name: string
  /** Deleted ones, too. */
  readonly isGone: boolean
}

export interface NameIndex {
  /** All that have the name, of any kind, and of each kind those that had it last. */
  named(asked: NameAsked): Promise<NamesFound>
  /** Uids of those that have these coordinates. */
  at(cluster: ClusterId, place: Coordinates): AsyncIterable<Uid>
  /**
   * What exists or existed in a namespace under a name of few changes; not all of a large namespace
   * is looked through.
   */
  near(namespace: string, name: string): Promise<readonly Indexed[]>
  /**
   * What exists or existed under a name, in any namespace; not all of very many namespaces are
   * looked through.
   */
  anywhere(name: string): Promise<readonly Indexed[]>
  /** All that exist, or existed, in a namespace. */
  within(cluster: ClusterId, namespace: string): AsyncIterable<Indexed>
  /**
   * Uids of objects whose reference with that uid is unresolvable, so that the graph has no edge of
   * it.
   */
  unresolved(cluster: ClusterId, uid: Uid, limit: number): Promise<readonly Uid[]>
  /**
   * All that have the name, or had it: those behind a key, or (empty) the first, in an order that
   * nothing changes.
   */
  listed(asked: NamesListed, after: string): AsyncIterable<readonly [key: string, last: Indexed]>
}

/**
 * Of one kind in one cluster, that have a name, that were deleted before a moment, and after it.
 */
export const MOST_OF_A_KIND = 100
/** Kinds, each in each cluster, that are looked through for one name. */
const MOST_KINDS = 2_000
const PAGE_KEYS = 500
/** Objects of a namespace whose names are compared with one that is not there. */
const MOST_COMPARED = 2_000
/** Of one name that may have been meant, and letters of which one is looked at. */
const MOST_OF_A_SLIP = 5
const LONGEST_NAME = 63
/** Namespaces in which a name is looked for that is not where it was asked for. */
const MOST_NAMESPACES = 200

/** What exists is looked through apart: what was deleted takes none of its room. */
const STATES = ['there', 'gone'] as const
type State = (typeof STATES)[number]

export function createNameIndex(
  store: Pick<Store, 'page'>,
  lastOf: (cluster: ClusterId, uid: Uid) => Indexed | undefined,
): NameIndex {
  /** What is below each kind is read apart: no kind's objects take the place of another's. */
  async function* kindsBelow(prefix: string): AsyncIterable<string> {
    for (let range = prefixRange(prefix, 1); ; ) {
      // Whether there are more is asked by the next page, which begins behind this kind.
      const [first] = (await store.page(range)).rows
      if (first === undefined) return
      const kind = `${first[0].split('/').slice(0, KIND_PARTS).join('/')}/`
      yield kind
      range = { ...range, gte: prefixRange(kind, 1).lt }
    }
  }

  async function keysBelow(
    prefix: string,
    ofKind: (kind: string) => Promise<Keys>,
  ): Promise<Keys & { readonly isFull: boolean }> {
    const { rows, isCut } = await store.page(prefixRange(prefix, MOST_OF_A_KIND))
    if (!isCut) return { keys: rows.map(([key]) => key), isCut, isFull: false }
    const all: string[] = []
    let [isKindCut, kinds] = [false, 0]
    for await (const kind of kindsBelow(prefix)) {
      if (++kinds > MOST_KINDS) return { keys: all, isCut: isKindCut, isFull: true }
      const own = await ofKind(kind)
      all.push(...own.keys)
      isKindCut ||= own.isCut
    }
    return { keys: all, isCut: isKindCut, isFull: false }
  }

  async function thereOf(kind: string): Promise<Keys> {
    const { rows, isCut } = await store.page(prefixRange(kind, MOST_OF_A_KIND))
    return { keys: rows.map(([key]) => key), isCut }
  }

  async function goneOf(kind: string, at: number | undefined): Promise<Keys> {
    const range = prefixRange(kind, MOST_OF_A_KIND)
    const moment = at === undefined ? range.lt : kind + timeText(at)
    const before = await store.page({ ...range, lt: moment, take: 'last' })
    const after = await store.page({ ...range, gte: moment })
    const keys = [...before.rows, ...after.rows].map(([key]) => key)
    return { keys, isCut: before.isCut || after.isCut }
  }

  async function near(state: State, namespace: string, name: string): Promise<readonly Indexed[]> {
    const below = `${state}/${part(namespace)}/`
    const most = MOST_COMPARED / 2
    // Most slips of a hand spare the first letter.
    const likely = await store.page(prefixRange(`${below}${part(name.slice(0, 1))}`, most))
    const others = await store.page(prefixRange(below, most))
    const slips = slipsOf(name.slice(0, LONGEST_NAME)).map(async (each) => {
      return await store.page(prefixRange(`${below}${part(each)}/`, MOST_OF_A_SLIP))
    })
    const pages = [likely, others, ...(await Promise.all(slips))]
    const keys = new Set(pages.flatMap(({ rows }) => rows.map(([key]) => key)))
    const near = [...keys].filter((key) => isNear(name, nameIn(key)))
    return near.flatMap((key) => lastOf(...identityIn(key)) ?? [])
  }

  async function anywhere(state: State, name: string): Promise<readonly Indexed[]> {
    const keys: string[] = []
    for (let [range, read] = [prefixRange(`${state}/`, 1), 0]; read < MOST_NAMESPACES; read++) {
      const [first] = (await store.page(range)).rows
      if (first === undefined) break
      const namespace = `${first[0].split('/').slice(0, NAMESPACE_PARTS).join('/')}/`
      const { rows } = await store.page(prefixRange(`${namespace}${part(name)}/`, MOST_OF_A_KIND))
      keys.push(...rows.map(([key]) => key))
      range = { ...range, gte: prefixRange(namespace, 1).lt }
    }
    return keys.flatMap((key) => lastOf(...identityIn(key)) ?? [])
  }

  return {
    async named({ namespace, name, cluster, at }) {
      const of = namePart(namespace, name) + (cluster === undefined ? '' : `${part(cluster)}/`)
      const there = await keysBelow(`there/${of}`, thereOf)
      const gone = await keysBelow(`gone/${of}`, async (kind) => await goneOf(kind, at))
      const found = [...there.keys, ...gone.keys].flatMap((key) => lastOf(...identityIn(key)) ?? [])
      if (there.isCut || there.isFull || gone.isFull) return { found, lacks: 'any' }
      return { found, lacks: gone.isCut ? 'former' : 'nothing' }
    },
    async near(namespace, name) {
      return (await Promise.all(STATES.map((state) => near(state, namespace, name)))).flat()
    },
    async anywhere(name) {
      return (await Promise.all(STATES.map((state) => anywhere(state, name)))).flat()
    },
    async *at(cluster, { group, kind, namespace, name }) {
      const of = `${namePart(namespace, name)}${part(cluster)}/${kindPart(group, kind)}/`
      for await (const [key] of entriesIn(store, prefixRange(`there/${of}`, PAGE_KEYS))) {
        yield identityIn(key)[1]
      }
    },
    async *within(cluster, namespace) {
      const range = prefixRange(`${listPrefix(true)}${part(namespace)}/`, PAGE_KEYS)
      for await (const [key] of entriesIn(store, range)) {
        const [of, uid] = identityIn(key)
        const last = of === cluster ? lastOf(of, uid) : undefined
        if (last !== undefined) yield last
      }
    },
    async unresolved(cluster, uid, limit) {
      const { rows } = await store.page(prefixRange(unresolvedPrefix(cluster, uid), limit))
      return rows.map(([key]) => decodeURIComponent(key.slice(key.lastIndexOf('/') + 1)))
    },
    async *listed({ cluster, namespaces, name, isGone }, after) {
      const prefixes = namespaces.map((namespace) => {
        return `${listPrefix(isGone)}${namePart(namespace, name)}${part(cluster)}/`
      })
      for (const prefix of prefixes.toSorted()) {
        const range = prefixRange(prefix, PAGE_KEYS)
        if (range.lt <= after) continue
        const gte = after < range.gte ? range.gte : `${after}\0`
        for await (const [key] of entriesIn(store, { ...range, gte })) {
          const last = lastOf(...identityIn(key))
          if (last !== undefined) yield [key, last]
        }
      }
    },
  }
}

interface Keys {
  readonly keys: readonly string[]
  readonly isCut: boolean
}

/** What keys of `listed` begin with. */
export function listPrefix(isGone: boolean): string {
  return isGone ? 'name/' : 'there/'
}

/** Of an object as its last record has it: those of an earlier record are to be removed. */
export function nameKeys(object: Indexed): readonly string[] {
  const { cluster, uid, group, kind, namespace, name, at, isGone, owners } = object
  const of = `${namePart(namespace, name)}${part(cluster)}/${kindPart(group, kind)}/`
  const state = isGone ? `gone/${of}${timeText(at)}/` : `there/${of}`
  const unresolved = owners.filter(({ isUnresolvable }) => isUnresolvable)
  const owned = new Set(unresolved.map((owner) => unresolvedPrefix(cluster, owner.uid)))
  return [
    `name/${of}${part(uid)}`,
    state + part(uid),
    ...[...owned].map((prefix) => prefix + part(uid)),
  ]
}

function unresolvedPrefix(cluster: ClusterId, uid: Uid): string {
  return `unresolved/${part(cluster)}/${part(uid)}/`
}

/** Parts of a key up to its kind: what it is about, namespace, name, cluster, kind. */
const KIND_PARTS = 5
const NAMESPACE_PARTS = 2
const TIME_DIGITS = 16

function namePart(namespace: string, name: string): string {
  return `${part(namespace)}/${part(name)}/`
}

function kindPart(group: string, kind: string): string {
  return `${part(kind)}.${part(group)}`
}

function timeText(at: number): string {
  return `${Math.min(Math.max(0, Math.floor(at)), Number.MAX_SAFE_INTEGER)}`.padStart(
    TIME_DIGITS,
    '0',
  )
}

/**
 * Two letters that changed places, or one too many: looked for by name, among however many others.
 */
function slipsOf(name: string): readonly string[] {
  const slips = Array.from(name, (letter, at) => {
    const [before, after] = [name.slice(0, at), name.slice(at + 1)]
    return [before + after, `${before}${after.slice(0, 1)}${letter}${after.slice(1)}`]
  })
  return [...new Set(slips.flat())].filter((each) => each !== '' && each !== name)
}

function nameIn(key: string): string {
  return decodeURIComponent(key.split('/')[2] ?? '')
}

function isNear(asked: string, name: string): boolean {
  const most = Math.min(MOST_CHANGES, Math.floor(asked.length / 2))
  return name !== asked && changesBetween(asked, name) <= most
}

function identityIn(key: string): [ClusterId, Uid] {
  const parts = key.split('/')
  return [decodeURIComponent(parts[3] ?? ''), decodeURIComponent(parts.at(-1) ?? '')]
}
