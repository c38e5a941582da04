/**
 * The existing objects, of `lineage`.
 *
 * What must stay true: of each key the last entry counts; `gone` and a null value end it.
 */
import type { KafkaMessage } from 'kafkajs'
import { Decoder } from './decoder.ts'

type Strings<Field extends string> = { readonly [Each in Field]: string }
/** What this program needs of it. */
type Lineage = Strings<
  'clusterName' | 'group' | 'kind' | 'namespace' | 'name' | 'uid' | 'phase'
> & {
  readonly owners: readonly Strings<'kind' | 'name' | 'standing'>[]
  /** How many there are behind those. */
  readonly moreOwners: number
}

export class Table {
  readonly #decoder: Decoder<Lineage>
  readonly #objects = new Map<string, Lineage>()
  #isShown = false

  constructor(schemas: string, registry: string | undefined) {
    this.#decoder = new Decoder(schemas, 'lineage', registry)
  }

  /** Answers what is to be printed of the change. */
  async take({ key, value }: KafkaMessage): Promise<readonly string[]> {
    const before = this.#objects.get(String(key))
    const after = value === null ? undefined : await this.#decoder.decode(value)
    if (after !== undefined && after.phase !== 'gone') this.#objects.set(String(key), after)
    else this.#objects.delete(String(key))
    const changed = after ?? (before && { ...before, phase: 'gone' })
    return this.#isShown && changed !== undefined ? [textOf(changed)] : []
  }

  atEnd(): readonly string[] {
    this.#isShown = true
    return [...this.#objects.values()].map(textOf).sort()
  }
}

function textOf({
  clusterName,
  group,
  kind,
  namespace,
  name,
  uid,
  phase,
  owners,
  moreOwners,
}: Lineage): string {
  const owned = owners.map((owner) => `${owner.kind}/${owner.name} (${owner.standing})`)
  if (moreOwners > 0) owned.push(`and ${moreOwners} more`)
  return lineOf([clusterName, kindOf(kind, group), namespace, name, uid, phase, ...owned])
}

export function kindOf(kind: string, group: string): string {
  return group === '' ? kind : `${kind}.${group}`
}

/**
 * Fields between tabs. What is not printable ASCII is written as \u{…}, so no name can break the
 * line or the terminal.
 */
export function lineOf(fields: readonly string[]): string {
  const escaped = (text: string) =>
    text.replace(/[^ -~]|\\/gu, (each) => `\\u{${each.codePointAt(0)!.toString(16)}}`)
  return fields.map(escaped).join('\t')
}
