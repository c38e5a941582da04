/**
 * The barrier that replaces a sleep: objects whose owner never was are made, and when the collector
 * has taken them, it has seen everything that was written before them to those kinds and
 * namespaces.
 *
 * What must stay true: one canary for every kind and namespace in question, since nothing orders
 * one kind's watch after another's.
 */
import { randomUUID } from 'node:crypto'
import { eventually } from '../eventually.ts'
import {
  CLUSTER_ROLE,
  CONFIG_MAP,
  type Kind,
  makeAll,
  missingOf,
  type Requests,
} from '../process/objects.ts'

export interface Place {
  readonly kind: Kind
  readonly namespace: string
}

/** A kind that was defined a moment ago is watched some seconds later. */
const WITHIN_MS = 120_000
const EVERY_MS = 40

export async function canary(plane: Requests, places: readonly Place[]): Promise<void> {
  const id = randomUUID()
  const drafts = places.map(({ kind, namespace }, index) => {
    const { apiVersion, kind: name } = kind.namespaced ? CONFIG_MAP : CLUSTER_ROLE
    const owners = [{ apiVersion, kind: name, name: 'never', uid: id }]
    return { kind, namespace, name: `canary-${id}-${index}`, owners }
  })
  const left = await makeAll(plane, drafts)
  const look = async (): Promise<boolean | string> => {
    // One after the other: all of them must be deleted, and a GET of each every time would busy the
    // server.
    for (let next = left[0]; next !== undefined; next = left[0]) {
      if ((await missingOf(plane, [next])).length === 0) return next.kind.kind
      left.shift()
    }
    return true
  }
  await eventually('the collector takes the canaries', look, {
    withinMs: WITHIN_MS,
    everyMs: EVERY_MS,
  })
}

/** Rounds of canaries without an end would mean a collector that is never at rest. */
const ROUNDS = 40

/**
 * Resolves when no result of `look` has changed over a whole round of canaries, after a first one
 * that flushes.
 */
export async function quiet(
  plane: Requests,
  places: readonly Place[],
  look: () => Promise<string>,
): Promise<void> {
  await canary(plane, places)
  let before = await look()
  for (let round = 0; round < ROUNDS; round++) {
    await canary(plane, places)
    const after = await look()
    if (after === before) return
    before = after
  }
  throw new Error(`objects still change after ${ROUNDS} rounds of canaries`)
}
