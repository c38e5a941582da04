/**
 * What bears the uid of an object and names another one, for people: below its dependents, and
 * apart from them.
 *
 * Not here: which these are (services/graph/query/answer/misnamed.ts).
 */
import type { Misnamed } from '../answer.ts'
import { lineOf } from './terminal.ts'
import { countOf, objectName } from './word.ts'

/** Empty where there is nothing to say. */
export function misnamedText(
  { references, hidden, isCut }: Misnamed,
  of: { readonly kind: string; readonly name: string },
): string {
  const count = references.length + hidden
  if (count === 0) return ''
  const lines = references.map((object) => {
    const { namespace, reference } = object
    const where = namespace === '' ? '' : ` -n ${namespace}`
    const { apiVersion, kind, name } = reference
    return `  ${objectName(object)}${where} (names ${apiVersion} ${kind}/${name})`
  })
  const atLeast = isCut ? 'at least ' : ''
  const head = `${atLeast}${countOf(count, 'reference')} with the uid of ${of.kind}/${of.name} and another namespace, kind or name: no dependents`
  const rest = hidden === 0 ? [] : [`  ${hidden} of them hidden`]
  return [head, ...lines, ...rest].map((line) => `${lineOf(line)}\n`).join('')
}
