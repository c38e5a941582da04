/**
 * When each object existed, and when it referenced which owner, of `history`: a line for each such
 * span, once it has ended.
 *
 * What must stay true: an entry without `object` changes none of it, nor does one that comes again.
 * What an object was before its first entry, if that is not `created`, is not known (`?`).
 */
import type { KafkaMessage } from 'kafkajs'
import { Decoder } from './decoder.ts'
import { kindOf, lineOf } from './table.ts'

type Strings<Field extends string> = { readonly [Each in Field]: string }
/** What this program needs of it. Times are in milliseconds since 1970. */
type History = Strings<'cluster' | 'group' | 'kind' | 'namespace' | 'name' | 'uid' | 'change'> & {
  readonly at: number
  /** Of the event that brought it about. */
  readonly partition: number
  readonly position: number
  readonly object: {
    readonly phase: string | null
    readonly owners: readonly Strings<'kind' | 'name' | 'uid'>[]
  } | null
}
interface Known {
  readonly of: readonly string[]
  /** The beginnings of its open spans: by the text of the owner, or '' for its existence. */
  readonly open: Map<string, string>
  readonly last: History
}

export class Spans {
  readonly #decoder: Decoder<History>
  readonly #objects = new Map<string, Known>()

  constructor(schemas: string, registry: string | undefined) {
    this.#decoder = new Decoder(schemas, 'history', registry)
  }

  /** Answers the spans that have ended. */
  async take({ value }: KafkaMessage): Promise<readonly string[]> {
    if (value === null) return []
    const entry = await this.#decoder.decode(value)
    const { cluster, uid, group, kind, namespace, name, change, object } = entry
    if (object === null) return []
    const key = `${cluster}/${uid}`
    const known = this.#objects.get(key)
    // kafkajs hands out some entries of aborted transactions, which are written again.
    const last = known?.last
    if (last?.partition === entry.partition && entry.position < last.position) return []
    const of = [cluster, kindOf(kind, group), namespace, name, uid]
    const open: Known['open'] = known?.open ?? new Map()
    const from = known === undefined && change !== 'created' ? '?' : String(entry.at)
    const owners = object.owners.map((owner) => `${owner.kind}/${owner.name} (${owner.uid})`)
    const now = new Set(object.phase === null ? [] : ['', ...owners])
    const ended = [...open].filter(([owner]) => !now.has(owner))
    for (const [owner] of ended) open.delete(owner)
    for (const owner of now) if (!open.has(owner)) open.set(owner, from)
    this.#objects.set(key, { of, open, last: entry })
    return ended.map(([owner, began]) => textOf(of, began, String(entry.at), owner))
  }

  /** Those that have not ended. */
  atEnd(): readonly string[] {
    return [...this.#objects.values()]
      .flatMap(({ of, open }) => [...open].map(([owner, began]) => textOf(of, began, '', owner)))
      .sort()
  }
}

function textOf(of: readonly string[], from: string, to: string, owner: string): string {
  return lineOf([...of, from, to, ...(owner === '' ? [] : [owner])])
}
