/**
 * What a person does next about a restore, in which order lost owners are dealt with, and what no
 * restore brings back.
 *
 * What must stay true: an owner that can be had again comes first, and then `relink`; `drop`, which
 * leaves objects that nothing manages, comes last.
 */
import type { OwnerReference, Uid } from '../../core/model/object.ts'
import { shellWord } from '../../core/model/text.ts'
import { GUARDS } from '../../services/restore/guarded-kind.ts'
import type { LostOwner, Step } from '../../services/restore/restore-step.ts'
import { WHAT_IS_ARCHIVED } from '../print/restore-document.ts'

/** `isArchived`: whether the archive has that uid, chosen or not. */
export function adviceFor(
  steps: readonly Step[],
  isArchived: (uid: Uid) => boolean,
): readonly string[] {
  const lost = steps.flatMap((step) => (step.type === 'refuse' ? (step.lost ?? []) : []))
  const gone = (now: LostOwner['now']): readonly OwnerReference[] =>
    lost.flatMap((each) => (each.now === now ? each.reference : []))
  const [archived, absent] = split(gone('absent'), ({ uid }) => isArchived(uid))
  const relink = 'run this with --lost-owners relink'
  return [
    ...archived.map((owner) => {
      const word = shellWord(`uid:${owner.uid}`)
      return `${nameOf(owner)} is in the archive: restore it first (kinfold restore ${word}).`
    }),
    ...sentence(absent, (names) => `First create ${names} again (kubectl apply), then ${relink}.`),
    ...sentence(
      gone('terminating'),
      (names) =>
        `${names}: wait until it is deleted, create it again (kubectl apply), then ${relink}.`,
    ),
    ...sentence(
      gone('other'),
      (names) => `${names}: another object of that name exists; to make it the owner, ${relink}.`,
    ),
    ...lackingOwners(steps),
    ...guarded(steps),
    ...(lost.length > 0 ? [LAST_RESORT] : []),
  ]
}

/**
 * What a plan that creates something cannot have, which is not all there was. Where
 * the root itself is not in the archive, the first line of the report has said what is.
 */
export function limitsOf(steps: readonly Step[], isRootArchived: boolean): readonly string[] {
  if (!steps.some(({ type }) => type === 'create')) return []
  const archived = `What is not in the archive is not in this plan: ${WHAT_IS_ARCHIVED}.`
  return [...(isRootArchived ? [archived] : []), ORPHANED]
}

const ORPHANED =
  'Dependents that were orphaned are not linked to what is created: only a controller whose selector matches them adopts them.'

const LAST_RESORT =
  'Last resort: --lost-owners drop restores without the owner, so nothing ever collects these objects, and nothing manages those that it was the controller of.'

function lackingOwners(steps: readonly Step[]): readonly string[] {
  const without = steps.filter(
    (step) =>
      (step.type === 'keep' || step.type === 'link') &&
      step.lacks.some(({ cause }) => cause === 'not-asked'),
  )
  return sentence(
    without.map(({ object }) => object),
    (names) => `${names}: restored without an owner that exists; --lost-owners relink adds it.`,
  )
}

function guarded(steps: readonly Step[]): readonly string[] {
  return GUARDS.flatMap((guard) => {
    const those = steps.filter((step) => step.type === 'refuse' && step.guard === guard)
    return sentence(
      those.map(({ object }) => object),
      (names) => `${names}: --include ${guard} restores what is of this kind, too.`,
    )
  })
}

type Named = Pick<OwnerReference, 'kind' | 'name' | 'uid'>

/** Names of one sentence, at most. */
const NAMES = 5

function sentence(about: readonly Named[], say: (names: string) => string): readonly string[] {
  const names = [...new Set(about.map(nameOf))]
  return names.length === 0 ? [] : [say(listed(names))]
}

export function listed(names: readonly string[]): string {
  const rest = names.length - NAMES
  return names.slice(0, NAMES).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

function split<T extends Named>(
  all: readonly T[],
  isIn: (each: T) => boolean,
): readonly [readonly T[], readonly T[]] {
  const unique = [...new Map(all.map((each) => [each.uid, each])).values()]
  return [unique.filter(isIn), unique.filter((each) => !isIn(each))]
}

function nameOf({ kind, name }: Named): string {
  return `${kind}/${name}`
}
