/**
 * The counts of one task's part of the graph: of the store once, from its first key to its last,
 * and from then on of the changes of each commit.
 *
 * What must stay true: keys up to `#cursor` are all counted, keys after it are not. So a page is
 * counted only while no commit is under way. The counts follow from stored values alone: a recount
 * has the same result.
 *
 * Not here: adding tasks up (census.ts).
 */
import type { StateReader } from '../../../core/graph/graph.ts'
import { ALL_COUNTS_PREFIX, ALL_NODES_PREFIX } from '../../../core/graph/key.ts'
import type { HeldBy, Node, VerdictType } from '../../../core/model/node.ts'
import { admissionOf } from '../../../core/model/node.ts'
import type { ClusterId } from '../../../core/model/object.ts'
import type { StateValue } from '../../../core/model/state.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import { prefixRange, type Store } from '../../../ports/store.ts'
import { COUNT_KEYS } from '../config.ts'
import { stateValueOf } from './bytes/long-node.ts'
import type { ChangedKey } from './bytes/working-set.ts'
import { type DeletingCount, DeletingCounter } from './deleting-count.ts'

/** Of one cluster that has objects here. */
export interface ClusterTally {
  readonly cluster: ClusterId
  readonly edges: number
  /**
   * Edges to owners that are proven absent and did not orphan, also where no version served can be
   * asked for it (B47).
   */
  readonly dangling: number
  /** Objects that the policy holds: by the reason. */
  readonly held: Readonly<Record<HeldBy, number>>
  /** Objects that would be deleted, or lose a reference, and may not: by reason. */
  readonly blocked: Readonly<Record<BlockedBecause, BlockedCount>>
  readonly deleting: DeletingCount
  /** Objects that rules have deleted, or would: by the name of the rule. */
  readonly rules: Readonly<Record<string, RuleTally>>
}

export interface RuleTally {
  readonly held: number
  /** A command is under way, or about to be. */
  readonly deleting: number
}

export interface BlockedCount {
  readonly objects: number
  /** First refusal of those that are tried; null when none is. */
  readonly since: number | null
  /** Most tries of one object. */
  readonly tries: number
  /** The next one; null when only an event can help. */
  readonly nextTry: number | null
  /** Of one of them, for people; empty when none of the first ones is left. */
  readonly example: string
}

/**
 * `unresolvable`: an owner cannot be verified. - `held`: the policy does not allow it for such
 * evidence. - `refused`: the cluster did not accept the command.
 */
export type BlockedBecause = 'unresolvable' | 'held' | 'refused'

export const NONE_BLOCKED: BlockedCount = {
  objects: 0,
  since: null,
  tries: 0,
  nextTry: null,
  example: '',
}

export const NONE_HELD: Readonly<Record<HeldBy, number>> = {
  mode: 0,
  pause: 0,
  protection: 0,
  approval: 0,
  breaker: 0,
  hold: 0,
  budget: 0,
  rule: 0,
}

/** These ask something of the cluster. */
const ASKING: ReadonlySet<VerdictType> = new Set(['delete', 'annotate', 'drop', 'finish'])
/** Remembered for each cluster and reason, to report one as the example: the first ones. */
const EXAMPLES = 16
/** After all keys. */
const END = '~'

interface Counting {
  nodes: number
  edges: number
  dangling: number
  readonly held: Record<HeldBy, number>
  readonly blocked: Readonly<Record<BlockedBecause, Blocking>>
  readonly deleting: DeletingCounter
  readonly rules: Map<string, { held: number; deleting: number }>
}

interface Blocking {
  objects: number
  readonly tried: Map<string, Tried>
  readonly examples: Map<string, string>
}

interface Tried {
  readonly since: number
  readonly tries: number
  readonly until: number
}

/** In the order of their keys. */
const COUNTED = [ALL_COUNTS_PREFIX, ALL_NODES_PREFIX]

export class Tally {
  readonly #codec: Codec
  readonly #pageKeys: number
  readonly #clusters = new Map<string, Counting>()
  #cursor = ''
  #told: readonly ClusterTally[] | undefined

  /** `pageKeys` are counted at a time. */
  constructor(codec: Codec, pageKeys: number = COUNT_KEYS) {
    this.#codec = codec
    this.#pageKeys = pageKeys
  }

  /** Everything that is stored is counted. */
  get isWhole(): boolean {
    return this.#cursor === END
  }

  /**
   * Counts a further part of the store; no commit may be under way. `reader` reads the same store.
   */
  async goOn(store: Pick<Store, 'get' | 'page'>, reader: StateReader): Promise<void> {
    let left = this.#pageKeys
    for (const prefix of COUNTED) {
      const { gte, lt } = prefixRange(prefix, left)
      if (this.#cursor >= lt) continue
      const from = this.#cursor < gte ? gte : `${this.#cursor}\0`
      const { rows, isCut } = await store.page({ gte: from, lt, limit: left })
      for (const [key, bytes] of rows) {
        const value = stateValueOf(this.#codec, key, bytes, (each) => store.get(each))
        if (prefix === ALL_NODES_PREFIX) this.#countNode(key, value, 1)
        else this.#countDangling(key, danglingOf(reader, key, value), 1)
      }
      left -= rows.length
      this.#cursor = isCut ? rows.at(-1)![0] : lt
      if (left === 0) break
    }
    if (left > 0) this.#cursor = END
    this.#told = undefined
  }

  /** `changes` will be stored next; `before` reads the present state, `after` the future one. */
  committed(changes: readonly ChangedKey[], before: StateReader, after: StateReader): void {
    const owners = new Set<string>()
    changes.forEach(({ key, value }) => {
      if (key.startsWith(ALL_NODES_PREFIX)) {
        if (key > this.#cursor) return
        this.#countNode(key, before.get(key), -1)
        this.#countNode(key, value ?? undefined, 1)
      } else if (key.startsWith(ALL_COUNTS_PREFIX)) owners.add(key)
      else if (key.startsWith('owner/')) owners.add(countKeyOfOwner(key))
    })
    for (const key of owners) {
      if (key > this.#cursor) continue
      this.#countDangling(key, danglingOf(before, key, before.get(key)), -1)
      this.#countDangling(key, danglingOf(after, key, after.get(key)), 1)
    }
    this.#told = undefined
  }

  /** By cluster. */
  counts(): readonly ClusterTally[] {
    this.#told ??= [...this.#clusters]
      .filter(([, { nodes }]) => nodes > 0)
      .map(([cluster, count]) => toldOf(decodeURIComponent(cluster), count))
    return this.#told
  }

  #countDangling(key: string, dangling: number, sign: 1 | -1): void {
    if (dangling > 0) this.#of(key).dangling += sign * dangling
  }

  #countNode(key: string, value: StateValue | undefined, sign: 1 | -1): void {
    if (value?.type !== 'Node') return
    const count = this.#of(key)
    count.nodes += sign
    for (const place of value.places) if (place !== null) count.edges += sign
    const admission = admissionOf(value)
    if (admission !== null) count.held[admission.by] += sign
    count.deleting.count(value, sign)
    if (value.verdict?.rule != null) countRule(count, value.verdict.rule, admission !== null, sign)
    const because = blockedBecause(value)
    if (because !== undefined) countBlocked(count.blocked[because], key, value, sign)
  }

  #of(key: string): Counting {
    const slash = key.indexOf('/') + 1
    const cluster = key.slice(slash, key.indexOf('/', slash))
    const known = this.#clusters.get(cluster)
    if (known !== undefined) return known
    const blocked = { unresolvable: noneBlocking(), held: noneBlocking(), refused: noneBlocking() }
    const counts = { nodes: 0, edges: 0, dangling: 0, held: { ...NONE_HELD }, blocked }
    const count = { ...counts, deleting: new DeletingCounter(), rules: new Map() }
    this.#clusters.set(cluster, count)
    return count
  }
}

/** A rule without objects is none that is counted, so there are as many as the policy has. */
function countRule({ rules }: Counting, rule: string, isHeld: boolean, sign: 1 | -1): void {
  const count = rules.get(rule) ?? { held: 0, deleting: 0 }
  count[isHeld ? 'held' : 'deleting'] += sign
  if (count.held === 0 && count.deleting === 0) rules.delete(rule)
  else rules.set(rule, count)
}

/** Of the owner that a count is of. */
function ownerKeyOfCount(key: string): string {
  return `owner/${key.slice(ALL_COUNTS_PREFIX.length)}`
}

/** Of the key of an owner that of the count of its edges. */
function countKeyOfOwner(key: string): string {
  return ALL_COUNTS_PREFIX + key.slice('owner/'.length)
}

function noneBlocking(): Blocking {
  return { objects: 0, tried: new Map(), examples: new Map() }
}

function danglingOf(reader: StateReader, key: string, value: StateValue | undefined): number {
  if (value?.type !== 'Count') return 0
  const owner = reader.get(ownerKeyOfCount(key))
  // A dependent of an owner that orphaned loses the reference whatever else is known.
  if (owner?.type !== 'Owner' || owner.known.type !== 'absent') return 0
  return owner.known.orphanedAt === null ? value.dependents : 0
}

function countBlocked(blocking: Blocking, key: string, node: Node, sign: 1 | -1): void {
  const { object, verdict, attempt } = node
  blocking.objects += sign
  if (sign < 0) {
    blocking.tried.delete(key)
    blocking.examples.delete(key)
    return
  }
  const refused = attempt?.state === 'backoff' ? attempt : null
  if (refused !== null) {
    const { since, count: tries, until } = refused
    blocking.tried.set(key, { since, tries, until })
  }
  if (blocking.examples.size >= EXAMPLES) return
  const reason = refused?.reason || (admissionOf(node) ?? verdict)?.because
  blocking.examples.set(key, `${object.kind}/${object.name}: ${reason}`)
}

function blockedBecause(node: Node): BlockedBecause | undefined {
  const { verdict, attempt } = node
  if (verdict?.type === 'blocked') return 'unresolvable'
  const admission = admissionOf(node)
  // A rule in dry run holds what it is about for as long as people want; one over its limit is
  // reported as itself.
  if (admission !== null) return admission.by === 'rule' ? undefined : 'held'
  const isAsked = verdict !== null && ASKING.has(verdict.type)
  return isAsked && attempt?.outcome === 'blocked' ? 'refused' : undefined
}

function toldOf(
  cluster: ClusterId,
  { edges, dangling, held, blocked, deleting, rules }: Counting,
): ClusterTally {
  const { unresolvable, held: heldBack, refused } = blocked
  return {
    cluster,
    edges,
    dangling,
    held: { ...held },
    deleting: deleting.snapshot(),
    rules: Object.fromEntries([...rules].map(([rule, count]) => [rule, { ...count }])),
    blocked: {
      unresolvable: blockedOf(unresolvable),
      held: blockedOf(heldBack),
      refused: blockedOf(refused),
    },
  }
}

function blockedOf({ objects, tried, examples }: Blocking): BlockedCount {
  let sum = NONE_BLOCKED
  for (const { since, tries, until } of tried.values()) {
    sum = bothBlocked(sum, { ...NONE_BLOCKED, since, tries, nextTry: until })
  }
  const [example = ''] = examples.values()
  return { ...sum, objects, example }
}

function bothBlocked(a: BlockedCount, b: BlockedCount): BlockedCount {
  return {
    objects: a.objects + b.objects,
    since: least(a.since, b.since),
    tries: Math.max(a.tries, b.tries),
    nextTry: least(a.nextTry, b.nextTry),
    example: a.example || b.example,
  }
}

function least(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}
