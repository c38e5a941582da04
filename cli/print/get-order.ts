/**
 * In which order `kinfold get` lists objects.
 *
 * What must stay true: any two objects have an order, whatever is known of them: what has no time
 * comes last.
 */
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { ObjectList } from '../answer.ts'

type Listed = Pick<
  ObjectList['objects'][number],
  'cluster' | 'namespace' | 'name' | 'group' | 'kind' | 'uid' | 'createdAt' | 'goneAt'
>
type Compare = (a: Listed, b: Listed) => number

/**
 * By the words of `--sort-by`. The last two, and the order of the last, are those of `kubectl get`.
 */
const COMPARE: Readonly<Record<string, Compare>> = {
  name: byName,
  age: byAge,
  '.metadata.name': byName,
  '.metadata.creationTimestamp': byCreation,
}

export const ORDERS: readonly string[] = Object.keys(COMPARE)

export function orderOf(word: string): Compare {
  // kubectl takes `{.metadata.name}`, too.
  const key = word.replace(/^\{(.*)\}$/, '$1')
  const compare = Object.hasOwn(COMPARE, key) ? COMPARE[key] : undefined
  if (compare !== undefined) return compare
  throw new ExitError(EXIT.input, `--sort-by ${word} is none of ${ORDERS.join(', ')}`)
}

type Called = Omit<Listed, 'createdAt' | 'goneAt'>

export function byName(a: Called, b: Called): number {
  const keyOf = ({ cluster, namespace, name, group, kind, uid }: Called): readonly string[] => {
    return [cluster.name, cluster.id, namespace, name, kind, group, uid]
  }
  const [left, right] = [keyOf(a), keyOf(b)]
  const at = left.findIndex((part, index) => part !== right[index])
  return at < 0 ? 0 : (left[at] ?? '') < (right[at] ?? '') ? -1 : 1
}

/** The youngest first; what was deleted has no age, and comes last, the latest first. */
function byAge(a: Listed, b: Listed): number {
  const timeOf = ({ createdAt }: Listed): string => createdAt ?? ''
  const [left, right] = [timeOf(a), timeOf(b)]
  if (left !== right) return left > right ? -1 : 1
  const [first, second] = [a.goneAt ?? '', b.goneAt ?? '']
  return first === second ? byName(a, b) : first > second ? -1 : 1
}

/** The oldest first. */
function byCreation(a: Listed, b: Listed): number {
  const isKnown = a.createdAt !== null && b.createdAt !== null
  return isKnown && a.createdAt !== b.createdAt ? -byAge(a, b) : byAge(a, b)
}
