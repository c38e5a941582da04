/**
 * The subject of a protecting directive, as text: `namespace/NAME`, `kind/KIND[.GROUP]`,
 * `label/KEY[=VALUE]`, `annotation/KEY[=VALUE]`.
 *
 * What must stay true: a text that cannot be read is no subject; a reaper that meets a recorded one
 * holds (services/reaper/control.ts).
 */
import type { Coordinates, GroupKind, ObjectMeta, Pair } from './object.ts'

/** The subject of a protecting directive. */
export type Subject =
  | { readonly type: 'namespace'; readonly name: string }
  | ({ readonly type: 'kind' } & GroupKind)
  | { readonly type: 'label' | 'annotation'; readonly key: string; readonly value: string | null }

const NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/
const KEY = /^([A-Za-z0-9][A-Za-z0-9.-]{0,252}\/)?[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

/**
 * `namespace/NAME`, `kind/KIND[.GROUP]`, `label/KEY[=VALUE]` or `annotation/KEY[=VALUE]`; undefined
 * for anything else.
 */
export function readSubject(text: string): Subject | undefined {
  const slash = text.indexOf('/')
  const type = text.slice(0, slash)
  const rest = text.slice(slash + 1)
  switch (type) {
    case 'namespace':
      return NAME.test(rest) ? { type, name: rest } : undefined
    case 'kind': {
      const [kind = '', ...group] = rest.split('.')
      return NAME.test(rest) ? { type, kind, group: group.join('.') } : undefined
    }
    case 'label':
    case 'annotation': {
      const { key, value } = readKeyValue(rest)
      return KEY.test(key) && (value?.length ?? 0) <= 1_024 ? { type, key, value } : undefined
    }
    default:
      return undefined
  }
}

/** `key` or `key=value`. */
export function readKeyValue(text: string): {
  readonly key: string
  readonly value: string | null
} {
  const equals = text.indexOf('=')
  if (equals < 0) return { key: text, value: null }
  return { key: text.slice(0, equals), value: text.slice(equals + 1) }
}

/** Whether this is the subject. */
export function isSubject(object: ObjectMeta, text: string): boolean {
  const subject = readSubject(text)
  if (subject?.type === 'label') return has(object.labels, subject)
  if (subject?.type === 'annotation') return has(object.annotations, subject)
  return isPlaceOf(object, text)
}

/**
 * By its coordinates alone. An object deleted with a namespace or a CustomResourceDefinition is
 * spared only if that is spared, too.
 */
export function isPlaceOf(place: Coordinates, text: string): boolean {
  const subject = readSubject(text)
  if (subject?.type === 'namespace') return namespacesOf(place).includes(subject.name)
  if (subject?.type !== 'kind') return false
  const isKind = subject.kind === place.kind && subject.group === place.group
  return isKind || isDefinitionOf(place, subject.group)
}

/** The one that it is in; of a namespace itself, that one. */
export function namespacesOf({ group, kind, namespace, name }: Coordinates): readonly string[] {
  return kind === 'Namespace' && group === '' ? [namespace, name] : [namespace]
}

/** The name of a CustomResourceDefinition contains its group, and not its kind. */
function isDefinitionOf({ group, kind, name }: Coordinates, defined: string): boolean {
  return (
    group === 'apiextensions.k8s.io' &&
    kind === 'CustomResourceDefinition' &&
    defined !== '' &&
    name.endsWith(`.${defined}`)
  )
}

export function has(
  pairs: readonly Pair[],
  { key, value }: { readonly key: string; readonly value: string | null },
): boolean {
  return pairs.some((pair) => pair.key === key && (value === null || pair.value === value))
}
