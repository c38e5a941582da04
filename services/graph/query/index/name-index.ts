/**
 * Finds objects of one partition by cluster, kind, namespace and name: those that have a name now,
 * and those that had it, the last deleted first.
 *
 * What must stay true: however many objects had a name before, an existing one is found by one
 * search. A partial result says what it lacks: `lacks`. A former object is found around the moment
 * that is asked for, since only one of them existed then.
 *
 * Not here: keys (name-key.ts), reading the log (follower/name-follower.ts), histories
 * (history-index.ts).
 */
import type { ClusterId, Coordinates, Uid } from '../../../../core/model/object.ts'
import { entriesIn, prefixRange, type Store, type StoreEntry } from '../../../../ports/store.ts'
import { part } from './index-key.ts'
import {
  type Indexed,
  identityIn,
  indexedIn,
  kindPart,
  kindPrefixIn,
  lastOf,
  listPrefix,
  nameIn,
  namePart,
  namespacePrefixIn,
  timePart,
  uidPrefix,
  unresolvedPrefix,
} from './name-key.ts'
import { changesBetween, MOST_CHANGES } from './near-word.ts'

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

/**
 * Of one kind in one cluster, that have a name, that were deleted before a moment, and after it.
 */
export const MOST_OF_A_KIND = 100
/** Kinds, each in each cluster, that are searched for one name. */
const MOST_KINDS = 2_000
const PAGE_KEYS = 500
/** Clusters in which one uid is searched. */
const MOST_OF_A_UID = 10_000
/** Objects of a namespace whose names are compared with one that is not there. */
const MOST_COMPARED = 2_000
/** Names that may have been meant by one, and letters of the longest one that is compared. */
const MOST_OF_A_SLIP = 5
const LONGEST_NAME = 63
/** Namespaces that are searched for a name that is not where it was asked for. */
const MOST_NAMESPACES = 200

/** Existing objects are searched apart: deleted ones do not count against their limit. */
const STATES = ['there', 'gone'] as const
type State = (typeof STATES)[number]

interface Keys {
  readonly keys: readonly string[]
  readonly isCut: boolean
}

export class NameIndex {
  readonly #store: Pick<Store, 'page' | 'get'>

  constructor(store: Pick<Store, 'page' | 'get'>) {
    this.#store = store
  }

  /** Undefined when it was never seen, or is not indexed yet. */
  lastOf(cluster: ClusterId, uid: Uid): Indexed | undefined {
    return lastOf(this.#store, cluster, uid)
  }

  /** In each cluster of the partition that ever had one with this uid. */
  async withUid(uid: Uid): Promise<NamesFound> {
    const { rows, isCut } = await this.#store.page(prefixRange(uidPrefix(uid), MOST_OF_A_UID))
    return { found: rows.map(([, value]) => indexedIn(value)), lacks: isCut ? 'any' : 'nothing' }
  }

  /**
   * All that were ever observed, deleted ones included, with their keys, in an order that never
   * changes: those after a key, or (empty) the first.
   */
  async *all(after: string): AsyncIterable<readonly [key: string, last: Indexed]> {
    for await (const [key, value] of this.#entriesAfter('uid/', after)) {
      yield [key, indexedIn(value)]
    }
  }

  /** All that have the name, of any kind, and of each kind those that had it last. */
  async named({ namespace, name, cluster, at }: NameAsked): Promise<NamesFound> {
    const of = namePart(namespace, name) + (cluster === undefined ? '' : `${part(cluster)}/`)
    const there = await this.#keysBelow(`there/${of}`, (kind) => this.#firstKeys(kind))
    const gone = await this.#keysBelow(`gone/${of}`, (kind) => this.#goneOf(kind, at))
    const found = this.#lastOfEach([...there.keys, ...gone.keys])
    if (there.isCut || there.isFull || gone.isFull) return { found, lacks: 'any' }
    return { found, lacks: gone.isCut ? 'former' : 'nothing' }
  }

  /** Uids of those that have these coordinates. */
  async *at(cluster: ClusterId, place: Coordinates): AsyncIterable<Uid> {
    const { group, kind, namespace, name } = place
    const of = `${namePart(namespace, name)}${part(cluster)}/${kindPart(group, kind)}/`
    const range = prefixRange(`there/${of}`, PAGE_KEYS)
    for await (const [key] of entriesIn(this.#store, range)) yield identityIn(key)[1]
  }

  /**
   * Existing and former objects of a namespace under a name of few changes; not all of a large
   * namespace is searched. `share`: of the work that one question may be, where it is about several
   * partitions.
   */
  async near(namespace: string, name: string, share = 1): Promise<readonly Indexed[]> {
    const most = Math.ceil((MOST_COMPARED * share) / 2)
    const near = STATES.map((state) => this.#near(state, namespace, name, most))
    return (await Promise.all(near)).flat()
  }

  /**
   * Existing and former objects under a name, in any namespace; not all of very many namespaces are
   * searched. `share`: as of `near`.
   */
  async anywhere(name: string, share = 1): Promise<readonly Indexed[]> {
    const most = Math.ceil(MOST_NAMESPACES * share)
    return (await Promise.all(STATES.map((state) => this.#anywhere(state, name, most)))).flat()
  }

  /** All that exist, or existed, in a namespace. */
  async *within(cluster: ClusterId, namespace: string): AsyncIterable<Indexed> {
    const range = prefixRange(`${listPrefix(true)}${part(namespace)}/`, PAGE_KEYS)
    for await (const [key] of entriesIn(this.#store, range)) {
      const [of, uid] = identityIn(key)
      const last = of === cluster ? this.lastOf(of, uid) : undefined
      if (last !== undefined) yield last
    }
  }

  /**
   * Uids of objects whose reference with that uid is unresolvable, so that the graph has no edge of
   * it.
   */
  async unresolved(cluster: ClusterId, uid: Uid, limit: number): Promise<readonly Uid[]> {
    const { rows } = await this.#store.page(prefixRange(unresolvedPrefix(cluster, uid), limit))
    return rows.map(([key]) => decodeURIComponent(key.slice(key.lastIndexOf('/') + 1)))
  }

  /**
   * All that have the name, or had it: those after a key, or (empty) the first, in an order that
   * never changes.
   */
  async *listed(
    { cluster, namespaces, name, isGone }: NamesListed,
    after: string,
  ): AsyncIterable<readonly [key: string, last: Indexed]> {
    const prefixes = namespaces.map((namespace) => {
      return `${listPrefix(isGone)}${namePart(namespace, name)}${part(cluster)}/`
    })
    for (const prefix of prefixes.toSorted()) {
      for await (const [key] of this.#entriesAfter(prefix, after)) {
        const last = this.lastOf(...identityIn(key))
        if (last !== undefined) yield [key, last]
      }
    }
  }

  async *#entriesAfter(prefix: string, after: string): AsyncIterable<StoreEntry> {
    const range = prefixRange(prefix, PAGE_KEYS)
    if (range.lt <= after) return
    const gte = after < range.gte ? range.gte : `${after}\0`
    yield* entriesIn(this.#store, { ...range, gte })
  }

  #lastOfEach(keys: readonly string[]): readonly Indexed[] {
    return keys.flatMap((key) => lastOf(this.#store, ...identityIn(key)) ?? [])
  }

  async #keysBelow(
    prefix: string,
    ofKind: (kind: string) => Promise<Keys>,
  ): Promise<Keys & { readonly isFull: boolean }> {
    const first = await this.#firstKeys(prefix)
    if (!first.isCut) return { ...first, isFull: false }
    const all: string[] = []
    let [isCut, kinds] = [false, 0]
    for await (const kind of this.#kindsBelow(prefix)) {
      if (++kinds > MOST_KINDS) return { keys: all, isCut, isFull: true }
      const own = await ofKind(kind)
      all.push(...own.keys)
      isCut ||= own.isCut
    }
    return { keys: all, isCut, isFull: false }
  }

  /** What is below each kind is read apart: no kind's objects take the place of another's. */
  async *#kindsBelow(prefix: string): AsyncIterable<string> {
    for (let range = prefixRange(prefix, 1); ; ) {
      // Whether there are more is asked by the next page, which begins after this kind.
      const [first] = (await this.#store.page(range)).rows
      if (first === undefined) return
      const kind = kindPrefixIn(first[0])
      yield kind
      range = { ...range, gte: prefixRange(kind, 1).lt }
    }
  }

  async #firstKeys(prefix: string): Promise<Keys> {
    const { rows, isCut } = await this.#store.page(prefixRange(prefix, MOST_OF_A_KIND))
    return { keys: rows.map(([key]) => key), isCut }
  }

  async #goneOf(kind: string, at: number | undefined): Promise<Keys> {
    const range = prefixRange(kind, MOST_OF_A_KIND)
    const moment = at === undefined ? range.lt : kind + timePart(at)
    const before = await this.#store.page({ ...range, lt: moment, take: 'last' })
    const after = await this.#store.page({ ...range, gte: moment })
    const keys = [...before.rows, ...after.rows].map(([key]) => key)
    return { keys, isCut: before.isCut || after.isCut }
  }

  /** `most`: keys of each of two searches. */
  async #near(
    state: State,
    namespace: string,
    name: string,
    most: number,
  ): Promise<readonly Indexed[]> {
    const below = `${state}/${part(namespace)}/`
    // Most slips of a hand spare the first letter.
    const likely = await this.#store.page(prefixRange(`${below}${part(name.slice(0, 1))}`, most))
    const others = await this.#store.page(prefixRange(below, most))
    const slips = slipsOf(name.slice(0, LONGEST_NAME)).map(async (each) => {
      return await this.#store.page(prefixRange(`${below}${part(each)}/`, MOST_OF_A_SLIP))
    })
    const pages = [likely, others, ...(await Promise.all(slips))]
    const keys = new Set(pages.flatMap(({ rows }) => rows.map(([key]) => key)))
    return this.#lastOfEach([...keys].filter((key) => isNear(name, nameIn(key))))
  }

  async #anywhere(state: State, name: string, most: number): Promise<readonly Indexed[]> {
    const keys: string[] = []
    for (let [range, read] = [prefixRange(`${state}/`, 1), 0]; read < most; read++) {
      const [first] = (await this.#store.page(range)).rows
      if (first === undefined) break
      const namespace = namespacePrefixIn(first[0])
      keys.push(...(await this.#firstKeys(`${namespace}${part(name)}/`)).keys)
      range = { ...range, gte: prefixRange(namespace, 1).lt }
    }
    return this.#lastOfEach(keys)
  }
}

/**
 * Two letters that changed places, or one too many: searched by name, among however many others.
 */
function slipsOf(name: string): readonly string[] {
  const slips = Array.from(name, (letter, at) => {
    const [before, after] = [name.slice(0, at), name.slice(at + 1)]
    return [before + after, `${before}${after.slice(0, 1)}${letter}${after.slice(1)}`]
  })
  return [...new Set(slips.flat())].filter((each) => each !== '' && each !== name)
}

function isNear(asked: string, name: string): boolean {
  const most = Math.min(MOST_CHANGES, Math.floor(asked.length / 2))
  return name !== asked && changesBetween(asked, name) <= most
}
