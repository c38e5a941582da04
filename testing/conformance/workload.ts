/**
 * A random life of a small cluster from a seed, for twin runs: what users do, with references good and bad, deletions of all kinds, holds.
 *
 * What must stay true: it is a pure function of the seed, and its outcome does not hang on how fast a collector is. Upstream's does in
 * places, and what would show that is left out, each with its reason in RULES.
 */
import { CONFIG_MAP, type Kind, SECRET } from '../objects.ts'
import { type Chance, seeded } from '../seeded.ts'
import { PRIORITY_CLASS, REALM, WIDGET } from './kinds.ts'
import { FOREGROUND, HOLD, ORPHAN, type Propagation } from './world.ts'

/** Where kube-controller-manager's own collector gives results that hang on its pace, or is known to be weak. */
export const RULES = {
  settled:
    'one step at a time, settled on both sides: a deletion that overtakes what was made a moment before orphans or waits for less',
  orphaned:
    'nothing refers to an owner after its orphan deletion: upstream deletes late dependents, Kinfold keeps them',
  waiting:
    'where finalizers hold objects, nothing refers to what was there when a foreground deletion began: upstream looks at a dependent that is added to a waiting owner only when that owner is looked at again, Kinfold at once',
  rings:
    'a reference points to what was made before: upstream hangs on rings deleted in the foreground',
  unresolvable:
    'an object with a reference that cannot be resolved does not block: upstream waits for it for ever, Kinfold does not',
  sameUid:
    'one reference a uid: upstream drops references by uid and takes the right one along with the wrong one',
  ownOrphan:
    'what refers to an object with an orphan finalizer of its own has no other owner: which reference goes first decides what becomes of it',
  batch:
    'deletions at once are background deletions of objects without policy finalizers: a cascade that comes first would name another policy',
  held: 'where finalizers hold objects, those with several owners have no dependents: whether they are deleted in the foreground, and whom they keep waiting, is a race',
  nonBlocking:
    'where finalizers hold objects, references block: a held owner may stop waiting before those that do not block are looked at, and then they stay',
} as const

/** The index of an object; all of them are named for it. */
export type Slot = number

export interface ReferenceSpec {
  /** Undefined: a uid that nobody ever had. */
  readonly to: Slot | undefined
  readonly flaw: Flaw
  readonly blocking: boolean | undefined
}

type Flaw = 'none' | 'name' | 'kind' | 'not-preferred' | 'not-served' | 'unknown-kind'

export interface MakeAction {
  readonly type: 'make'
  readonly slot: Slot
  readonly kind: Kind
  readonly namespace: 0 | 1
  readonly references: readonly ReferenceSpec[]
  readonly finalizers: readonly string[]
}

export type Action =
  | MakeAction
  | { readonly type: 'refer'; readonly slot: Slot; readonly references: readonly ReferenceSpec[] }
  | { readonly type: 'release'; readonly slot: Slot }
  | {
      readonly type: 'remove'
      readonly slot: Slot
      readonly policy: Propagation | undefined
    }

/** Actions of a step follow each other without a pause; between steps both sides come to rest. */
export type Step = readonly Action[]

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

/** What the generator remembers of an object: what it was made to be, not what became of it. */
interface Made {
  readonly kind: Kind
  readonly namespace: 0 | 1
  readonly finalizers: readonly string[]
  readonly isLeaf: boolean
}

interface State {
  readonly chance: Chance
  /** Finalizers may hold objects, and RULES.held counts. */
  readonly hasHolds: boolean
  readonly objects: Made[]
  readonly orphaned: Set<Slot>
  /** RULES.waiting: what was made before is named no more. */
  namedFrom: Slot
}

export function workload(seed: number): Workload {
  const chance = seeded(seed)
  const hasHolds = chance.next() < 0.6
  const state = { chance, hasHolds, objects: [], orphaned: new Set<Slot>(), namedFrom: 0 }
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

/** Flawed ones refer to earlier steps only: what they hang on must be settled. */
function make(state: State, count: number, hasFlaws: boolean): Step {
  const { chance, objects, hasHolds } = state
  const before = objects.length
  const actions: MakeAction[] = []
  for (let index = 0; index < count; index++) {
    const slot = objects.length
    const kind = chance.pick(KINDS)
    const namespace = chance.next() < 0.7 ? 0 : 1
    const references = referencesOf(state, { kind, namespace }, hasFlaws ? before : slot, hasFlaws)
    const finalizers = finalizersOf(state, references, hasFlaws)
    const mayHaveDependents = !hasHolds || isPlain(references)
    const isLeaf = !mayHaveDependents || chance.next() < 0.2
    objects.push({ kind, namespace, finalizers, isLeaf })
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
  dependent: Pick<Made, 'kind' | 'namespace'>,
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
  { chance, objects, orphaned, namedFrom }: State,
  dependent: Pick<Made, 'kind' | 'namespace'>,
  below: Slot,
  hasFlaws: boolean,
): ReferenceSpec | undefined {
  const blocking = chance.pick([true, true, true, false, undefined])
  const isFlawed = hasFlaws && chance.next() < 0.5
  if (isFlawed && chance.next() < 0.25) return { to: undefined, flaw: 'none', blocking }
  const mayOwn = (to: Slot): boolean => {
    const owner = objects[to]!
    return (
      !owner.isLeaf &&
      to >= namedFrom &&
      !orphaned.has(to) &&
      (isFlawed || isLegal(dependent, owner))
    )
  }
  const [first, ...others] = Array.from({ length: below }, (_, to) => to).filter(mayOwn)
  if (first === undefined) return undefined
  const to = chance.pick([first, ...others])
  const flaws: readonly [Flaw, ...Flaw[]] =
    objects[to]!.kind === WIDGET
      ? ['none', 'name', 'kind', 'not-preferred', 'not-served', 'unknown-kind']
      : ['none', 'name', 'kind', 'unknown-kind']
  return { to, flaw: isFlawed ? chance.pick(flaws) : 'none', blocking }
}

function isLegal(dependent: Pick<Made, 'kind' | 'namespace'>, owner: Made): boolean {
  if (!owner.kind.namespaced) return true
  return dependent.kind.namespaced && dependent.namespace === owner.namespace
}

function isSole({ objects }: State, { to }: ReferenceSpec): boolean {
  return to !== undefined && objects[to]!.finalizers.includes(ORPHAN)
}

function isUnresolvable(
  { objects }: State,
  dependent: Pick<Made, 'kind' | 'namespace'>,
  { to, flaw }: ReferenceSpec,
): boolean {
  if (flaw === 'not-served' || flaw === 'unknown-kind') return true
  // A wrong kind is a namespaced one, and so is that of an owner that never was.
  const isNamespaced = to === undefined || flaw === 'kind' || objects[to]!.kind.namespaced
  return isNamespaced && !dependent.kind.namespaced
}

function refer(state: State): Action {
  const { chance, objects, hasHolds } = state
  const slot = chance.below(objects.length)
  const made = objects[slot]!
  const isHeld = made.finalizers.length > 0
  const mustBePlain = isHeld || (hasHolds && !made.isLeaf)
  const hasFlaws = !mustBePlain && chance.next() < 0.5
  const references = referencesOf(state, made, slot, hasFlaws, mustBePlain)
  return { type: 'refer', slot, references }
}

function removeOne(state: State): Action {
  const { chance, objects, orphaned, hasHolds } = state
  const slot = chance.below(objects.length)
  const policies = ['Background', 'Foreground', 'Foreground', 'Orphan', undefined] as const
  const policy = chance.pick<Propagation | undefined>(policies)
  const orphans = policy === 'Orphan' || objects[slot]!.finalizers.includes(ORPHAN)
  if (orphans) orphaned.add(slot)
  const mayWait = policy === 'Foreground' || objects.some(hasForeground)
  if (hasHolds && mayWait) state.namedFrom = objects.length
  return { type: 'remove', slot, policy }
}

function hasForeground({ finalizers }: Made): boolean {
  return finalizers.includes(FOREGROUND)
}

function removeSome(state: State): Action[] {
  const { chance, objects, hasHolds } = state
  if (hasHolds && objects.some(hasForeground)) state.namedFrom = objects.length
  const slots = new Set(Array.from({ length: 4 }, () => chance.below(objects.length)))
  return [...slots]
    .filter((slot) => !objects[slot]!.finalizers.some((each) => each !== HOLD))
    .map((slot) => ({ type: 'remove', slot, policy: 'Background' }))
}

function heldSlots({ objects }: State): Slot[] {
  return objects.flatMap(({ finalizers }, slot) => (finalizers.includes(HOLD) ? [slot] : []))
}

function releases(state: State): Action[] {
  return heldSlots(state).map((slot) => ({ type: 'release', slot }))
}

/** A line an action. */
export function shownWorkload({ steps }: Workload, upTo: number): string {
  return steps
    .slice(0, upTo + 1)
    .flatMap((step, index) => [`step ${index}:`, ...step.map((each) => `  ${shownAction(each)}`)])
    .join('\n')
}

function shownAction(action: Action): string {
  const { type, slot } = action
  switch (type) {
    case 'make': {
      const { kind, namespace, references, finalizers } = action
      const where = kind.namespaced ? ` in ${namespace}` : ''
      return `make ${slot} ${kind.kind}${where}${shownReferences(references)} [${finalizers}]`
    }
    case 'refer':
      return `refer ${slot}${shownReferences(action.references)}`
    case 'release':
      return `release ${slot}`
    case 'remove':
      return `remove ${slot} ${action.policy ?? 'by default'}`
  }
}

function shownReferences(references: readonly ReferenceSpec[]): string {
  const shown = references.map(({ to, flaw, blocking }) => {
    const words = [to ?? 'never', flaw === 'none' ? '' : flaw, blocking ? 'blocking' : '']
    return words.filter((word) => word !== '').join(' ')
  })
  return ` <- ${shown.join(', ') || 'nothing'}`
}
