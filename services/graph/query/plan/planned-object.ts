/**
 * What a plan says of one object: its effect, why, its place in the order, and what the digest is
 * made of.
 */
import { createHash } from 'node:crypto'
import type { ObjectMeta } from '../../../../core/model/object.ts'
import type { Evidence } from '../../../../core/model/proof.ts'
import type { PlannedObject } from '../../api/part-schema.ts'
import type { Turns } from '../../turns.ts'
import { removedText, waitsText } from '../answer/known-finalizer.ts'

/**
 * - `deleted`: removed.
 * - `stuck`: its deletion is requested, and it exists until others remove finalizers.
 * - `kept`: loses a reference and has another owner. - `orphaned`: loses a reference, as was asked.
 * - `blocked`: it cannot be judged, so it stays; or it keeps an owner waiting.
 */
export type Effect = PlannedObject['effect']

/** What became of one object in the rehearsal. */
export interface Fate {
  /** As it was. */
  readonly object: ObjectMeta
  because: string
  isDropped: boolean
  isOrphaned: boolean
  isDeleted: boolean
  /** Of the verdicts that decided so. */
  readonly evidence: Set<Evidence>
  /** A sentence. */
  blockedBecause: string
}

export function effectOf(fate: Fate, now: ObjectMeta | undefined): Effect {
  if (now === undefined) return 'deleted'
  if (fate.isDeleted) return 'stuck'
  if (!fate.isDropped) return 'blocked'
  return fate.isOrphaned ? 'orphaned' : 'kept'
}

export function becauseOf(effect: Effect, fate: Fate, now: ObjectMeta | undefined): string {
  switch (effect) {
    case 'deleted':
      return sentences(fate.because, removedText(fate.object))
    case 'stuck': {
      const finalizers = now === undefined ? '' : waitsText(now)
      const because = finalizers || fate.blockedBecause || 'it waits for its dependents'
      return sentences(fate.because, because)
    }
    case 'kept':
    case 'orphaned':
    case 'blocked':
      return sentences(fate.because, fate.blockedBecause)
  }
}

function sentences(...all: readonly string[]): string {
  return all.filter((text) => text !== '').join('; ')
}

const EFFECT_ORDER: readonly Effect[] = ['blocked', 'stuck', 'kept', 'orphaned', 'deleted']

type Ordered = Pick<PlannedObject, 'effect' | 'kind' | 'group'> & Partial<PlannedObject>

/** By effect, what is in the way first, then by kind, namespace and name. */
export function sorted<T extends Ordered>(all: readonly T[]): T[] {
  return all
    .map((each) => [orderOf(each), each] as const)
    .sort(([a], [b]) => byText(a, b))
    .map(([, each]) => each)
}

function orderOf({ effect, kind, group, namespace = '', name = '', uid = '' }: Ordered): string {
  return [EFFECT_ORDER.indexOf(effect), kind, group, namespace, name, uid].join('\0')
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Equal plan, equal digest. */
export async function digestOf(planned: readonly PlannedObject[], turns: Turns): Promise<string> {
  const lines: string[] = []
  for (const { uid, resourceVersion, effect } of planned) {
    lines.push(JSON.stringify([uid, resourceVersion, effect]))
    await turns.take()
  }
  return createHash('sha256').update(lines.sort(byText).join('\n')).digest('hex')
}
