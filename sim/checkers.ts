/**
 * What must never be seen, a checker for each invariant: in the moment of an effect, when a request leaves, when something is appended, and at
 * rest. The list below is all of them; another invariant is another entry.
 *
 * What must stay true: a checker shares no code with the graph and never waits; it answers with one sentence, or nothing.
 *
 * Not here: what the API means by ownership (oracle.ts).
 */
import type { ApiObject } from '../adapters/memory/api-server.ts'
import { approvalCheckers } from './approvals.ts'
import { assignmentCheckers } from './assignments.ts'
import type { Appended } from './broker.ts'
import { configCheckers } from './configured.ts'
import { effectCheckers } from './effect-checkers.ts'
import type { Passage } from './network.ts'
import { restCheckers } from './rest-checkers.ts'
import { safeguardCheckers } from './safeguard-checkers.ts'
import type { Acting, Site } from './site.ts'
import type { Truth } from './truth.ts'
import type { WholeWorld } from './world.ts'

/** An effect of Kinfold's, in the moment in which it took place. */
export interface EffectSeen {
  readonly world: WholeWorld
  readonly site: Site
  readonly truth: Truth
  readonly acting: Acting
  /** The request's body. */
  readonly sent: unknown
  readonly before: ApiObject
  readonly after: ApiObject | null
}

export interface Checker {
  /** I1 and so on, and what it looks at. */
  readonly invariant: string
  effect?(seen: EffectSeen): string
  request?(world: WholeWorld, passage: Passage): string
  appended?(world: WholeWorld, appended: Appended): string
  /** Every few minutes. */
  now?(world: WholeWorld): readonly string[]
  /** When all has come to rest. */
  rest?(world: WholeWorld): Promise<readonly string[]>
}

export const CHECKERS: readonly Checker[] = [
  ...effectCheckers,
  ...safeguardCheckers,
  ...approvalCheckers,
  ...configCheckers,
  ...assignmentCheckers,
  ...restCheckers,
]
