/**
 * The memory of the generator of workloads, and the questions of its RULES about it.
 *
 * What must stay true: it knows the requests and never their results, so an answer errs on the side
 * that leaves more out; references point to objects created before, so every search along them
 * ends.
 */
import type { Kind } from '../process/objects.ts'
import type { ReferenceSpec, Slot } from './action.ts'
import { FOREGROUND, HOLD, ORPHAN, type Propagation } from './world.ts'

export interface Placed {
  readonly kind: Kind
  readonly namespace: 0 | 1
}

export interface Dependent extends Placed {
  /** All it ever had. */
  readonly references: readonly ReferenceSpec[]
}

export interface Drafted extends Dependent {
  readonly finalizers: readonly string[]
  readonly isLeaf: boolean
  readonly references: ReferenceSpec[]
}

export interface Past {
  /** Finalizers may hold objects, and RULES.held counts. */
  readonly hasHolds: boolean
  readonly objects: Drafted[]
  /** By a request of their own; some of them so that they orphan, some so that they wait. */
  readonly removed: Set<Slot>
  readonly orphaned: Set<Slot>
  readonly foreground: Set<Slot>
  /** RULES.waiting: objects created before are referenced no longer. */
  namedFrom: Slot
}

export function emptyPast(hasHolds: boolean): Past {
  const [removed, orphaned, foreground] = [new Set<Slot>(), new Set<Slot>(), new Set<Slot>()]
  return { hasHolds, objects: [], removed, orphaned, foreground, namedFrom: 0 }
}

export function isLegal(dependent: Placed, owner: Placed): boolean {
  if (!owner.kind.namespaced) return true
  return dependent.kind.namespaced && dependent.namespace === owner.namespace
}

export function isUnresolvable(
  { objects }: Past,
  dependent: Placed,
  { to, flaw }: ReferenceSpec,
): boolean {
  if (flaw === 'not-served' || flaw === 'unknown-kind') return true
  // A wrong kind is a namespaced one, and so is that of an owner that never was.
  const isNamespaced = to === undefined || flaw === 'kind' || objects[to]!.kind.namespaced
  return isNamespaced && !dependent.kind.namespaced
}

/** It names an object's uid, and not that object's place. */
export function isAmiss(
  { objects }: Past,
  dependent: Placed,
  { to, flaw }: ReferenceSpec,
): boolean {
  if (to === undefined) return false
  return ['name', 'kind', 'unknown-kind'].includes(flaw) || !isLegal(dependent, objects[to]!)
}

/** RULES.renamed. */
export function isRenamed({ references }: Dependent, { to, flaw }: ReferenceSpec): boolean {
  return references.some((had) => had.to === to && had.flaw !== flaw)
}

/** RULES.misnamed: by an object that is held, or cannot be judged. */
export function isNamedAmiss(past: Past, slot: Slot): boolean {
  return past.objects.some((each) => {
    const { finalizers, references } = each
    const mayStay =
      finalizers.includes(HOLD) || references.some((spec) => isUnresolvable(past, each, spec))
    return mayStay && references.some((spec) => spec.to === slot && isAmiss(past, each, spec))
  })
}

/** RULES.letGo. */
export function isNamedBesideBoth(past: Past, slot: Slot): boolean {
  return past.objects.some((each) => {
    const isUnresolved = (spec: ReferenceSpec): boolean => isUnresolvable(past, each, spec)
    const { references } = each
    const mayBeAbsent = references.some((spec) => {
      const { to } = spec
      if (to === slot || isUnresolved(spec)) return false
      return to === undefined || isAmiss(past, each, spec) || mayHaveGone(past, to)
    })
    return mayBeAbsent && references.some(({ to }) => to === slot) && references.some(isUnresolved)
  })
}

export function hasOrphan({ finalizers }: Drafted): boolean {
  return finalizers.includes(ORPHAN)
}

/** RULES.orphaned. */
export function mayBeOrphaned(past: Past, slot: Slot): boolean {
  return past.orphaned.has(slot) || (hasOrphan(past.objects[slot]!) && mayHaveGone(past, slot))
}

/** By a request, or with an owner that it ever had. */
function mayHaveGone(past: Past, slot: Slot): boolean {
  if (past.removed.has(slot)) return true
  return past.objects[slot]!.references.some(
    ({ to, flaw }) => to === undefined || flaw !== 'none' || mayHaveGone(past, to),
  )
}

export function hasForeground({ finalizers }: Drafted): boolean {
  return finalizers.includes(FOREGROUND)
}

export function isForeground(drafted: Drafted, policy: Propagation | undefined): boolean {
  return policy === 'Foreground' || (policy === undefined && hasForeground(drafted))
}

/** RULES.guess, if it is deleted in the foreground now: from above, or from below. */
export function isTakenForRing(past: Past, slot: Slot): boolean {
  if (!past.hasHolds) return false
  const above = [...farOwnersOf(past, slot)]
  if (above.some((each) => hasForeground(past.objects[each]!))) return true
  return [...past.foreground].some((below) => farOwnersOf(past, below).has(slot))
}

/** The owners of its owners, and theirs, and so on. */
function farOwnersOf(past: Past, slot: Slot): Set<Slot> {
  const far = new Set(ownersOf(past, slot).flatMap((owner) => ownersOf(past, owner)))
  // A set includes elements that are added while it is iterated.
  for (const owner of far) for (const each of ownersOf(past, owner)) far.add(each)
  return far
}

function ownersOf({ objects }: Past, slot: Slot): Slot[] {
  return objects[slot]!.references.flatMap(({ to }) => (to === undefined ? [] : [to]))
}
