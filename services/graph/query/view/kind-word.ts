/**
 * The words by which people name a kind: its name and plural, compared with the kinds that a
 * cluster serves, and the short names that each cluster's own API server gives them (`po`,
 * `deploy`, `wd` of a CustomResourceDefinition): its watcher leaves these with the kind's
 * watermark, which any process reads.
 *
 * What must stay true: a word that is the name of a kind anywhere is no short name, as with
 * kubectl. While the log cannot be reached, what was read last is believed.
 */
import { groupKindIn, kindsPrefix } from '../../../../core/graph/key.ts'
import type { ClusterId, GroupKind } from '../../../../core/model/object.ts'
import type { Kind } from '../../../../core/model/state.ts'
import type { Clock } from '../../../../ports/clock.ts'
import { FollowedTopic } from '../../../../ports/followed-topic.ts'
import type { Log } from '../../../../ports/log.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import { CodecError } from '../../../../ports/record/codec.ts'
import type { Watermark } from '../../../../ports/record/service-record.ts'
import { isAway } from '../index/follower/rounds.ts'
import { changesBetween, MOST_CHANGES } from '../index/near-word.ts'
import type { View } from './view.ts'

/** Kinds that a word may mean. */
export interface KindWord {
  /** The word, and the names that it is short for. */
  readonly names: readonly string[]
  is(kind: GroupKind, known: Parameters<typeof isKind>[2]): boolean
}

interface ClusterKind extends GroupKind {
  readonly cluster: ClusterId
}

/** Kinds come seldom, and decoding them costs as much as there are kinds. */
const FRESH_MS = 10_000

export interface KindWordsParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
}

type NamedKind = Pick<Watermark, 'cluster' | 'group' | 'kind' | 'resource' | 'shortNames'>

export class KindWords {
  readonly #parts: KindWordsParts
  readonly #watermarks: FollowedTopic
  #kinds: readonly NamedKind[] = []
  #resources: ReadonlyMap<string, string> = new Map()
  #readAt: number | undefined

  constructor(parts: KindWordsParts) {
    this.#parts = parts
    const { log, clock } = parts
    this.#watermarks = new FollowedTopic({ log, clock, topic: 'watermarks', prefixes: [''] })
  }

  async of(word: string): Promise<KindWord> {
    const all = word === '' ? [] : await this.#read()
    const isName = all.some((each) => isKind(word, each, { ...each, versions: [] }))
    const names = isName ? [word] : [word, ...new Set(longNames(word, all))]
    return { names, is: (kind, known) => names.some((each) => isKind(each, kind, known)) }
  }

  /** The plural of a kind in paths of its cluster; undefined where its watcher has not left it. */
  async resourceOf(kind: ClusterKind): Promise<string | undefined> {
    await this.#read()
    return this.#resources.get(keyOf(kind))
  }

  async #read(): Promise<readonly NamedKind[]> {
    const { codec, clock } = this.#parts
    if (this.#readAt !== undefined && clock.monotonicMs() - this.#readAt < FRESH_MS) {
      return this.#kinds
    }
    try {
      const marks = await this.#watermarks.latest()
      this.#kinds = marks.flatMap(({ value }) => (value === null ? [] : named(codec, value)))
      this.#resources = new Map(this.#kinds.map((each) => [keyOf(each), each.resource]))
      this.#readAt = clock.monotonicMs()
    } catch (error) {
      if (!isAway(error)) throw error
    }
    return this.#kinds
  }
}

/** None of them has a blank. */
function keyOf({ cluster, group, kind }: ClusterKind): string {
  return `${cluster} ${group} ${kind}`
}

/** With what follows a dot as it is: `wd.example.com`, `deploy.v1.apps`. */
function longNames(word: string, all: readonly NamedKind[]): readonly string[] {
  const asked = word.toLowerCase()
  return all.flatMap(({ group, kind, shortNames }) => {
    const name = kind.toLowerCase()
    return shortNames.flatMap((short) => {
      if (asked === short) return [group === '' ? name : `${name}.${group}`]
      return asked.startsWith(`${short}.`) ? [`${name}${asked.slice(short.length)}`] : []
    })
  })
}

function named(codec: Codec, value: Uint8Array): readonly NamedKind[] {
  try {
    const record = codec.decode(value)
    return record.type === 'Watermark' && record.kind !== '' ? [record] : []
  } catch (error) {
    if (error instanceof CodecError) return []
    throw error
  }
}

export interface KnownKind
  extends GroupKind,
    Pick<Kind, 'phase' | 'reason' | 'resource' | 'scope' | 'listedBy' | 'listedAt'> {
  readonly versions: readonly string[]
}

/** All that its cluster was ever said to serve. */
export async function kindsIn(view: View): Promise<readonly KnownKind[]> {
  const kinds: KnownKind[] = []
  for await (const [key] of view.entries(kindsPrefix(view.cluster))) {
    const kind = groupKindIn(key)
    const state = view.facts.kind(kind)
    if (state === undefined) continue
    const { phase, reason, resource, scope, versions, listedBy, listedAt } = state
    kinds.push({ ...kind, phase, reason, resource, scope, versions, listedBy, listedAt })
  }
  return kinds
}

/**
 * `kind`, its plural, either with `.group` or `.version.group`. Of a kind that is not known here
 * the plural is the regular one, and the version any: the process that has the cluster resolves it
 * again.
 */
export function isKind(
  word: string,
  { group, kind }: GroupKind,
  known: Pick<KnownKind, 'resource' | 'versions'> | undefined,
): boolean {
  const asked = word.toLowerCase()
  const singular = kind.toLowerCase()
  const names = [singular, known?.resource ?? pluralOf(singular)]
  const name = names.find((each) => asked === each || asked.startsWith(`${each}.`))
  if (name === undefined) return false
  const rest = asked.slice(name.length)
  if (rest === '' || rest === `.${group}`) return true
  if (known === undefined) return /^\.v\d\w*\./.test(rest) && rest.endsWith(`.${group}`)
  return known.versions.some((version) => rest === `.${version}.${group}`)
}

/** As kubectl guesses it. */
function pluralOf(singular: string): string {
  if (/s$/.test(singular)) return `${singular}es`
  return /y$/.test(singular) ? singular.replace(/y$/, 'ies') : `${singular}s`
}

const MOST_ALIKE = 3

/** The resources that are nearest to it. */
export function alike(word: string, kinds: readonly KnownKind[]): readonly string[] {
  const [asked = ''] = word.toLowerCase().split('.')
  const near = kinds.flatMap(({ group, kind, resource }) => {
    const changes = Math.min(
      changesBetween(asked, resource),
      changesBetween(asked, kind.toLowerCase()),
    )
    const isBegun = asked.length > MOST_CHANGES && resource.startsWith(asked)
    const isNear = isBegun || changes <= Math.min(MOST_CHANGES, Math.floor(asked.length / 2))
    return isNear ? [{ changes, name: group === '' ? resource : `${resource}.${group}` }] : []
  })
  near.sort((a, b) => a.changes - b.changes || (a.name < b.name ? -1 : 1))
  const nearest = near.filter(({ changes }) => changes === near[0]?.changes)
  return [...new Set(nearest.map(({ name }) => name))].slice(0, MOST_ALIKE)
}
