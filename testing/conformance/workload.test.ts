/**
 * Workloads leave out the cases that RULES name, searched for in the steps alone, and keep those
 * close to them.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Action, ReferenceSpec, Slot } from './action.ts'
import { workload } from './workload.ts'
import { FOREGROUND, HOLD, ORPHAN } from './world.ts'

/** The requests up to an action; references are all that an object ever had. */
interface Asked {
  readonly finalizers: Map<Slot, readonly string[]>
  readonly references: Map<Slot, ReferenceSpec[]>
  readonly removed: Map<Slot, ReadonlySet<string>>
  readonly hasHolds: boolean
}

type Look = (action: Action, asked: Asked) => 'left out' | 'near' | undefined

const SEEDS = 1_000
const AMISS = ['name', 'kind', 'unknown-kind']

test('nothing refers to an owner that an orphan finalizer of its own may have orphaned', () => {
  leavesOut((action, asked) => {
    if (action.type !== 'make' && action.type !== 'refer') return undefined
    const own = action.references.filter(
      ({ to }) => to !== undefined && asked.finalizers.get(to)?.includes(ORPHAN),
    )
    if (own.length === 0) return undefined
    return own.some(({ to }) => mayBeGone(to, asked)) ? 'left out' : 'near'
  })
})

test('nothing lies between two deletions in the foreground where finalizers hold objects', () => {
  leavesOut((action, asked) => {
    if (action.type !== 'remove' || !asked.hasHolds) return undefined
    if (!isForeground(action, asked)) return undefined
    const waiting = [...asked.removed].flatMap(([slot, how]) => (how.has(FOREGROUND) ? [slot] : []))
    if (waiting.some((slot) => lengthsUp(slot, action.slot, asked).some((length) => length > 1)))
      return 'left out'
    return waiting.some((slot) => lengthsUp(slot, action.slot, asked).length > 0)
      ? 'near'
      : undefined
  })
})

test('an owner that a reference which stays names amiss is not orphaned', () => {
  leavesOut((action, { references, finalizers }) => {
    if (action.type !== 'remove') return undefined
    const stays = [...references].some(
      ([slot, all]) =>
        all.some(({ to, flaw }) => to === action.slot && AMISS.includes(flaw)) &&
        (finalizers.get(slot)?.includes(HOLD) || all.some(({ flaw }) => flaw === 'unknown-kind')),
    )
    if (!stays) return undefined
    return action.policy === 'Orphan' ? 'left out' : 'near'
  })
})

test('an owner that is named beside an absent one and one that cannot be resolved is not orphaned', () => {
  leavesOut((action, { references }) => {
    if (action.type !== 'remove') return undefined
    const isBoth = [...references.values()].some((all) => {
      const isNamed = all.some(({ to }) => to === action.slot)
      const isAbsent = all.some(({ to }) => to === undefined)
      return isNamed && isAbsent && all.some(({ flaw }) => flaw === 'unknown-kind')
    })
    if (!isBoth) return undefined
    return action.policy === 'Orphan' ? 'left out' : 'near'
  })
})

test('what is held names amiss only without blocking', () => {
  leavesOut((action) => {
    if (action.type !== 'make' || !action.finalizers.includes(HOLD)) return undefined
    const amiss = action.references.filter(({ flaw }) => AMISS.includes(flaw))
    if (amiss.length === 0) return undefined
    return amiss.some(({ blocking }) => blocking === true) ? 'left out' : 'near'
  })
})

test('an object never names an owner in another way than it first did', () => {
  leavesOut((action, { references }) => {
    if (action.type !== 'refer') return undefined
    const had = references.get(action.slot) ?? []
    const again = action.references.flatMap((spec) => {
      return had.flatMap(({ to, flaw }) => (to === spec.to ? [flaw === spec.flaw] : []))
    })
    if (again.length === 0) return undefined
    return again.every((isSame) => isSame) ? 'near' : 'left out'
  })
})

function leavesOut(look: Look): void {
  const wrong: string[] = []
  let near = 0
  for (let seed = 1; seed <= SEEDS; seed++) {
    const actions = workload(seed).steps.flat()
    const asked: Asked = {
      finalizers: new Map(),
      references: new Map(),
      removed: new Map(),
      hasHolds: actions.some((each) => each.type === 'make' && each.finalizers.includes(HOLD)),
    }
    for (const action of actions) {
      const found = look(action, asked)
      if (found === 'left out') wrong.push(`seed ${seed}: ${action.type} ${action.slot}`)
      if (found === 'near') near += 1
      remember(action, asked)
    }
  }
  deepEqual(wrong, [])
  ok(near > 20, `only ${near} come near to it in ${SEEDS} seeds`)
}

function remember(action: Action, asked: Asked): void {
  const { finalizers, references, removed } = asked
  const { slot } = action
  if (action.type === 'make') finalizers.set(slot, action.finalizers)
  if (action.type === 'make' || action.type === 'refer')
    references.set(slot, [...(references.get(slot) ?? []), ...action.references])
  if (action.type === 'remove') {
    const how = isForeground(action, asked) ? FOREGROUND : 'otherwise'
    removed.set(slot, new Set([...(removed.get(slot) ?? []), how]))
  }
}

function isForeground(
  { policy, slot }: Action & { readonly type: 'remove' },
  { finalizers }: Asked,
): boolean {
  const isOwn = policy === undefined && finalizers.get(slot)?.includes(FOREGROUND) === true
  return policy === 'Foreground' || isOwn
}

function mayBeGone(slot: Slot | undefined, asked: Asked): boolean {
  if (slot === undefined || asked.removed.has(slot)) return true
  const all = asked.references.get(slot) ?? []
  return all.some(({ to, flaw }) => flaw !== 'none' || mayBeGone(to, asked))
}

/** Of every way from a dependent up to an owner. */
function lengthsUp(from: Slot, owner: Slot, asked: Asked): number[] {
  const owners = (asked.references.get(from) ?? []).flatMap(({ to }) => to ?? [])
  return owners.flatMap((to) =>
    to === owner ? [1] : lengthsUp(to, owner, asked).map((length) => length + 1),
  )
}
