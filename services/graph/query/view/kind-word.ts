/**
 * The short names and plurals of kinds, as each cluster's own API server gives them (`po`,
 * `deploy`, `wd` of a CustomResourceDefinition): its watcher leaves them with the kind's watermark,
 * which any process reads.
 *
 * What must stay true: a word that is the name of a kind anywhere is no short name, as with
 * kubectl. While the log cannot be reached, what was read last is believed.
 *
 * Not here: names that are not short (kind-name.ts).
 */
import type { ClusterId, GroupKind } from '../../../../core/model/object.ts'
import type { Clock } from '../../../../ports/clock.ts'
import { FollowedTopic } from '../../../../ports/followed-topic.ts'
import type { Log } from '../../../../ports/log.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import { CodecError } from '../../../../ports/record/codec.ts'
import type { Watermark } from '../../../../ports/record/service-record.ts'
import { isAway } from '../index/follower/rounds.ts'
import { isKind } from './kind-name.ts'

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
    this.#watermarks = new FollowedTopic({ log, clock, topic: 'watermarks', prefix: '' })
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
