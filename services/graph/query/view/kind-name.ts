/**
 * The words by which people name a kind, compared with the kinds that a cluster serves.
 *
 * What must stay true: a kind is unknown only where the kinds of every cluster that is meant can be
 * read here.
 *
 * Not here: short names (kind-word.ts).
 */
import { groupKindIn, kindsPrefix } from '../../../../core/graph/key.ts'
import type { GroupKind } from '../../../../core/model/object.ts'
import type { Kind } from '../../../../core/model/state.ts'
import { changesBetween, MOST_CHANGES } from '../index/near-word.ts'
import type { View } from './view.ts'

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
