/**
 * The actions of a twin run, as data: objects are created, get other references, are deleted or
 * released, and a text for people.
 *
 * What must stay true: it names objects by slot alone, so two control planes can carry it out
 * alike.
 */
import type { Kind } from '../process/objects.ts'
import type { Propagation } from './world.ts'

/** The index of an object; all of them are named for it. */
export type Slot = number

export interface ReferenceSpec {
  /** Undefined: a uid that no object ever had. */
  readonly to: Slot | undefined
  readonly flaw: Flaw
  readonly blocking: boolean | undefined
}

/** `lower-case`: its kind is written so, which a server resolves nevertheless. */
export type Flaw =
  | 'none'
  | 'lower-case'
  | 'name'
  | 'kind'
  | 'not-preferred'
  | 'not-served'
  | 'unknown-kind'

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

/** Actions of a step follow each other without a pause; between steps both sides reach rest. */
export type Step = readonly Action[]

/** A line an action. */
export function shownSteps(steps: readonly Step[]): string {
  return steps
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
