/**
 * A random life of a small cluster from a seed, for twin runs: the actions of users, with
 * references good and bad, deletions of all kinds, holds.
 *
 * What must stay true: it is a pure function of the seed, and its outcome does not depend on how
 * fast a collector is. Upstream's does in places, and the cases that would show that are left out,
 * each with its reason in RULES.
 */
import { CONFIG_MAP, type Kind, SECRET } from '../process/objects.ts'
import { type Chance, seeded } from '../seeded.ts'
import type { Action, Flaw, MakeAction, ReferenceSpec, Slot, Step } from './action.ts'
import { PRIORITY_CLASS, REALM, WIDGET } from './kinds.ts'
import {
  type Dependent,
  emptyPast,
  hasForeground,
  hasOrphan,
  isAmiss,
  isForeground,
  isLegal,
  isNamedAmiss,
  isNamedBesideBoth,
  isRenamed,
  isTakenForRing,
  isUnresolvable,
  mayBeOrphaned,
  type Past,
  type Placed,
} from './past.ts'
import { FOREGROUND, HOLD, ORPHAN, type Propagation } from './world.ts'

/**
 * Where the results of kube-controller-manager's own collector depend on its pace, or it is known
 * to be weak.
 */
export const RULES = {
  settled:
    'one step at a time, settled on both sides: a deletion that overtakes what was made a moment before orphans or waits for less',
  orphaned:
    'nothing refers to an owner after its orphan deletion, nor, if it has an orphan finalizer of its own, when it may have gone with its owners: upstream deletes late dependents (B35), Kinfold keeps them',
  waiting:
    'where finalizers hold objects, nothing refers to what was there when a foreground deletion began: upstream looks at a dependent that is added to a waiting owner only when that owner is looked at again, Kinfold at once',
  rings:
    'a reference points to what was made before: upstream hangs on rings deleted in the foreground',
  unresolvable:
    'an object with a reference that cannot be resolved does not block: upstream waits for it for ever, Kinfold does not',
  sameUid:
    'one reference a uid: upstream drops references by uid and takes the right one along with the wrong one',
  renamed:
    'a reference keeps the kind, version and name by which an object first named that uid: upstream does not look at a change that keeps the uid (B10), Kinfold does',
  misnamed:
    'whom a reference that stays names by its uid and not at its place is never orphaned, and such a reference does not block: upstream goes by the uid alone (B11), Kinfold by both',
  letGo:
    'whom an object names beside an absent owner and one that cannot be resolved is never orphaned: Kinfold drops the reference to the absent one with it, upstream keeps it',
  ownOrphan:
    'what refers to an object with an orphan finalizer of its own has no other owner: which reference goes first decides what becomes of it',
  batch:
    'deletions at once are background deletions of objects without policy finalizers: a cascade that comes first would name another policy',
  held: 'where finalizers hold objects, those with several owners have no dependents: whether they are deleted in the foreground, and whom they keep waiting, is a race',
  guess:
    'where finalizers hold objects, none is deleted in the foreground with a dependent between it and one that was before: upstream takes that for a ring, and what is between blocks no more (B28)',
  nonBlocking:
    'where finalizers hold objects, references block: a held owner may stop waiting before those that do not block are looked at, and then they stay',
} as const

export interface Workload {
  readonly seed: number
  readonly steps: readonly Step[]
}

const KINDS: readonly [Kind, ...Kind[]] = [
  CONFIG_MAP,
  CONFIG_MAP,
  SECRET,
  WIDGET,
  WIDGET,
  REALM,
  PRIORITY_CLASS,
]
const FIRST_OBJECTS = 10
const MORE_OBJECTS = 12
const STEPS = 10
const MORE_STEPS = 10

interface State extends Past {
  readonly chance: Chance
}

export function workload(seed: number): Workload {
  const chance = seeded(seed)
  const state = { chance, ...emptyPast(chance.next() < 0.6) }
  const steps: Step[] = [make(state, FIRST_OBJECTS + chance.below(MORE_OBJECTS), false)]
  const count = STEPS + chance.below(MORE_STEPS)
  for (let step = 0; step < count; step++) steps.push(nextStep(state))
  steps.push(releases(state))
  return { seed, steps }
}

function nextStep(state: State): Step {
  const { chance } = state
  const dice = chance.next()
  if (dice < 0.4) return [removeOne(state)]
  if (dice < 0.5) return removeSome(state)
  if (dice < 0.65) return [refer(state)]
  if (dice < 0.8) return make(state, 1 + chance.below(4), true)
  if (dice < 0.85) return make(state, 3 + chance.below(4), false)
  const held = heldSlots(state)
  const [first, ...others] = held
  if (first === undefined) return [removeOne(state)]
  return [{ type: 'release', slot: chance.pick([first, ...others]) }]
}

/** Flawed references point to earlier steps only: the objects they reference must be settled. */
function make(state: State, count: number, hasFlaws: boolean): Step {
  const { chance, objects, hasHolds } = state
  const before = objects.length
  const actions: MakeAction[] = []
  for (let index = 0; index < count; index++) {
    const slot = objects.length
    const kind = chance.pick(KINDS)
    const namespace = chance.next() < 0.7 ? 0 : 1
    const dependent: Dependent = { kind, namespace, references: [] }
    const named = referencesOf(state, dependent, hasFlaws ? before : slot, hasFlaws)
    const finalizers = finalizersOf(state, named, hasFlaws)
    const references = finalizers.includes(HOLD)
      ? named.map((spec) => unblockedIfAmiss(state, dependent, spec))
      : named
    const mayHaveDependents = !hasHolds || isPlain(references)
    const isLeaf = !mayHaveDependents || chance.next() < 0.2
    objects.push({ kind, namespace, finalizers, isLeaf, references: [...references] })
    actions.push({ type: 'make', slot, kind, namespace, references, finalizers })
  }
  return actions
}

function isPlain(references: readonly ReferenceSpec[]): boolean {
  return references.length < 2 && references.every(({ blocking }) => blocking === true)
}

function finalizersOf(
  { chance, hasHolds }: State,
  references: readonly ReferenceSpec[],
  hasFlaws: boolean,
): string[] {
  const dice = chance.next()
  if (hasHolds && references.length < 2 && dice < 0.25) return [HOLD]
  if (!hasFlaws && dice > 0.96) return [ORPHAN]
  if (!hasFlaws && dice > 0.9) return [FOREGROUND]
  return []
}

function referencesOf(
  state: State,
  dependent: Dependent,
  below: Slot,
  hasFlaws: boolean,
  mustBePlain = false,
): ReferenceSpec[] {
  const { chance } = state
  const wanted = chance.pick([0, 1, 1, 1, 2, 2, 3])
  const count = mustBePlain ? Math.min(1, wanted) : wanted
  const found: ReferenceSpec[] = []
  for (let index = 0; index < count; index++) {
    const spec = referenceOf(state, dependent, below, hasFlaws)
    const isAgain = found.some(({ to }) => to === spec?.to)
    if (spec === undefined || isAgain) continue
    if (isSole(state, spec)) {
      found.splice(0, found.length, spec)
      break
    }
    found.push(spec)
  }
  if (found.some((spec) => isUnresolvable(state, dependent, spec))) {
    return found.map((spec) => ({ ...spec, blocking: undefined }))
  }
  return state.hasHolds ? found.map((spec) => ({ ...spec, blocking: true })) : found
}

function referenceOf(
  state: State,
  dependent: Dependent,
  below: Slot,
  hasFlaws: boolean,
): ReferenceSpec | undefined {
  const { chance, objects, namedFrom } = state
  const blocking = chance.pick([true, true, true, false, undefined])
  const isFlawed = hasFlaws && chance.next() < 0.5
  if (isFlawed && chance.next() < 0.25) return { to: undefined, flaw: 'none', blocking }
  const mayOwn = (to: Slot): boolean => {
    const owner = objects[to]!
    return (
      !owner.isLeaf &&
      to >= namedFrom &&
      !mayBeOrphaned(state, to) &&
      (isFlawed || isLegal(dependent, owner))
    )
  }
  const [first, ...others] = Array.from({ length: below }, (_, to) => to).filter(mayOwn)
  if (first === undefined) return undefined
  const to = chance.pick([first, ...others])
  const flaws: readonly [Flaw, ...Flaw[]] =
    objects[to]!.kind === WIDGET
      ? ['lower-case', 'name', 'kind', 'not-preferred', 'not-served', 'unknown-kind']
      : ['lower-case', 'name', 'kind', 'unknown-kind']
  const spec = { to, flaw: isFlawed ? chance.pick(flaws) : 'none', blocking }
  const isForNone = isAmiss(state, dependent, spec) && hasOrphan(objects[to]!)
  return isForNone || isRenamed(dependent, spec) ? undefined : spec
}

function unblockedIfAmiss(state: State, dependent: Placed, spec: ReferenceSpec): ReferenceSpec {
  return isAmiss(state, dependent, spec) ? { ...spec, blocking: undefined } : spec
}

function isSole({ objects }: State, { to }: ReferenceSpec): boolean {
  return to !== undefined && hasOrphan(objects[to]!)
}

function refer(state: State): Action {
  const { chance, objects, hasHolds } = state
  const slot = chance.below(objects.length)
  const made = objects[slot]!
  const isHeld = made.finalizers.length > 0
  const mustBePlain = isHeld || (hasHolds && !made.isLeaf)
  const hasFlaws = !mustBePlain && chance.next() < 0.5
  const references = referencesOf(state, made, slot, hasFlaws, mustBePlain)
  made.references.push(...references)
  return { type: 'refer', slot, references }
}

function removeOne(state: State): Action {
  const { chance, objects, removed, orphaned, foreground, hasHolds } = state
  const slot = chance.below(objects.length)
  const policies = ['Background', 'Foreground', 'Foreground', 'Orphan', undefined] as const
  const policy = spared(state, slot, chance.pick<Propagation | undefined>(policies))
  removed.add(slot)
  const orphans = policy === 'Orphan' || hasOrphan(objects[slot]!)
  if (orphans) orphaned.add(slot)
  if (isForeground(objects[slot]!, policy)) foreground.add(slot)
  const mayWait = policy === 'Foreground' || objects.some(hasForeground)
  if (hasHolds && mayWait) state.namedFrom = objects.length
  return { type: 'remove', slot, policy }
}

/** In the background instead, where RULES leave out the drawn policy. */
function spared(
  state: State,
  slot: Slot,
  policy: Propagation | undefined,
): Propagation | undefined {
  const isMisnamed =
    policy === 'Orphan' && (isNamedAmiss(state, slot) || isNamedBesideBoth(state, slot))
  const isGuessed = isForeground(state.objects[slot]!, policy) && isTakenForRing(state, slot)
  return isMisnamed || isGuessed ? 'Background' : policy
}

function removeSome(state: State): Action[] {
  const { chance, objects, removed, hasHolds } = state
  if (hasHolds && objects.some(hasForeground)) state.namedFrom = objects.length
  const drawn = new Set(Array.from({ length: 4 }, () => chance.below(objects.length)))
  const slots = [...drawn].filter(
    (slot) => !objects[slot]!.finalizers.some((each) => each !== HOLD),
  )
  for (const slot of slots) removed.add(slot)
  return slots.map((slot) => ({ type: 'remove', slot, policy: 'Background' }))
}

function heldSlots({ objects }: State): Slot[] {
  return objects.flatMap(({ finalizers }, slot) => (finalizers.includes(HOLD) ? [slot] : []))
}

function releases(state: State): Action[] {
  return heldSlots(state).map((slot) => ({ type: 'release', slot }))
}
