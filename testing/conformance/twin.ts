/**
 * One workload on two control planes alike, one collector on each: after every step both reach
 * rest, and the remaining objects must be the same.
 *
 * What must stay true: names identify objects, uids are each plane's own; both planes get the same
 * requests in the same order.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { ControlPlane } from '../cluster/control-plane.ts'
import type { Made, Reference } from '../process/objects.ts'
import type { Action, MakeAction, ReferenceSpec, Slot, Step } from './action.ts'
import type { Collector } from './collector.ts'
import { WIDGET_NOT_PREFERRED, WIDGET_NOT_SERVED } from './kinds.ts'
import type { Seen } from './seen.ts'
import type { Workload } from './workload.ts'
import { HOLD, makeWorld, RefusedError, type World } from './world.ts'

export interface Side {
  readonly plane: ControlPlane
  readonly collector: Collector
}

export interface Difference {
  readonly step: number
  /** A line an object, or an answer. */
  readonly lines: readonly string[]
}

interface Twin {
  readonly world: World
  /** Also of deleted objects. */
  readonly made: Map<Slot, Made>
}

/** A retry may be pending when canaries have passed; a difference that lasts this long is one. */
const EQUAL_WITHIN_MS = 45_000
const LOOK_EVERY_MS = 250
const WITHIN_MS = 90_000

/** The first difference, or undefined. `name` is unique on both planes. */
export async function runTwins(
  { steps }: Workload,
  name: string,
  sides: readonly [Side, Side],
): Promise<Difference | undefined> {
  const twins = await Promise.all(
    sides.map(async ({ plane, collector }): Promise<Twin> => {
      const world = await makeWorld({ plane, collector, name, withinMs: WITHIN_MS })
      return { world, made: new Map() }
    }),
  )
  for (const [step, actions] of steps.entries()) {
    const answers = await Promise.all(twins.map((twin) => apply(twin, actions)))
    const [left, right] = answers.map((each) => each.join(' '))
    // Within a step, a collector may be faster than the next request.
    if (actions.length === 1 && left !== right) {
      return { step, lines: [`answers: ${left} and ${right}`] }
    }
    if (answers.every((each) => each.every((status) => status === 404))) continue
    await Promise.all(twins.map(({ world }) => world.quiet()))
    const lines = await differences(twins)
    if (lines.length > 0) return { step, lines }
  }
  return undefined
}

/** The same on one control plane, while another collector observes the one there. */
export async function runAlone(
  { steps }: Workload,
  name: string,
  { plane, collector }: Side,
): Promise<void> {
  const world = await makeWorld({ plane, collector, name, withinMs: WITHIN_MS })
  const twin: Twin = { world, made: new Map() }
  for (const actions of steps) {
    const statuses = await apply(twin, actions)
    if (statuses.some((status) => status !== 404)) await world.quiet()
  }
}

async function apply(twin: Twin, step: Step): Promise<number[]> {
  const statuses: number[] = []
  for (const action of step) statuses.push(await applyOne(twin, action).then(() => 200, statusOf))
  return statuses
}

function statusOf(error: unknown): number {
  if (error instanceof RefusedError) return error.status
  throw error
}

async function applyOne(twin: Twin, action: Action): Promise<void> {
  const { world, made } = twin
  const target = (): Made => made.get(action.slot)!
  switch (action.type) {
    case 'make':
      return await makeOne(twin, action)
    case 'refer':
      return await world.refer(
        target(),
        action.references.map((spec) => referenceOf(made, spec, world.namespace)),
      )
    case 'remove': {
      const { policy } = action
      return await world.removeWith(target(), policy && { propagationPolicy: policy })
    }
    case 'release': {
      const { finalizers = [] } = (await world.look()).get(target().uid) ?? {}
      return await world.finalize(
        target(),
        finalizers.filter((each) => each !== HOLD),
      )
    }
  }
}

async function makeOne({ world, made }: Twin, action: MakeAction): Promise<void> {
  const { slot, kind, references, finalizers } = action
  const owners = references.map((spec) => referenceOf(made, spec, world.namespace))
  const namespace = action.namespace === 0 ? world.namespace : world.other
  made.set(slot, await world.make(kind, `o${slot}`, { owners, finalizers, namespace }))
}

function referenceOf(
  made: ReadonlyMap<Slot, Made>,
  { to, flaw, blocking }: ReferenceSpec,
  seed: string,
): Reference {
  const block = blocking === undefined ? {} : { blockOwnerDeletion: blocking }
  if (to === undefined) {
    return { apiVersion: 'v1', kind: 'ConfigMap', name: 'never', uid: `never-${seed}`, ...block }
  }
  const { kind, name, uid } = made.get(to)!
  const right = { apiVersion: kind.apiVersion, kind: kind.kind, name, uid, ...block }
  switch (flaw) {
    case 'none':
      return right
    case 'name':
      return { ...right, name: `${name}-not` }
    case 'kind':
      return { ...right, apiVersion: 'v1', kind: kind.kind === 'Secret' ? 'ConfigMap' : 'Secret' }
    case 'lower-case':
      return { ...right, kind: kind.kind.toLowerCase() }
    case 'not-preferred':
      return { ...right, apiVersion: WIDGET_NOT_PREFERRED }
    case 'not-served':
      return { ...right, apiVersion: WIDGET_NOT_SERVED }
    case 'unknown-kind':
      return { ...right, kind: 'Nothing' }
  }
}

/** Empty as soon as both are alike. */
async function differences(twins: readonly Twin[]): Promise<string[]> {
  const deadline = performance.now() + EQUAL_WITHIN_MS
  for (;;) {
    const [left, right] = await Promise.all(twins.map(shownLeft))
    const lines = linesOf(left!, right!)
    if (lines.length === 0 || performance.now() > deadline) return lines
    await delay(LOOK_EVERY_MS)
  }
}

/** Each object's text, without anything that is the plane's own. */
async function shownLeft({ world, made }: Twin): Promise<Map<string, string>> {
  const slots = new Map([...made].map(([slot, { uid }]) => [uid, slot]))
  const left = new Map<string, string>()
  for (const [uid, seen] of await world.look()) {
    left.set(`object ${slots.get(uid)}`, shownObject(seen, slots))
  }
  return left
}

function shownObject({ references, finalizers, deleting }: Seen, slots: Map<string, Slot>): string {
  const owners = references.map(({ uid, apiVersion, kind, name, blockOwnerDeletion }) => {
    return `${slots.get(uid) ?? uid} as ${apiVersion} ${kind} ${name} ${blockOwnerDeletion ?? ''}`
  })
  const state = deleting ? 'being deleted' : 'live'
  return `${state}, of [${owners.join(', ')}], with [${[...finalizers].sort().join(', ')}]`
}

function linesOf(left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>): string[] {
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((each) => left.get(each) !== right.get(each))
    .map((each) => `${each}: ${left.get(each) ?? 'gone'} | ${right.get(each) ?? 'gone'}`)
}
