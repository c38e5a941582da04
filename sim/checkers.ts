/**
 * What must never be seen, a checker for each invariant: in the moment of an effect, when a request leaves, when something is appended, and at
 * rest. The list below is all of them; another invariant is another entry.
 *
 * What must stay true: a checker shares no code with the graph and never waits; it answers with one sentence, or nothing.
 *
 * Not here: what a checker is (model.ts), what the API means by ownership (oracle.ts).
 */
import { approvalCheckers } from './approvals.ts'
import { assignmentCheckers } from './assignments.ts'
import { configCheckers } from './configured.ts'
import { costCheckers } from './cost-checkers.ts'
import { effectCheckers } from './effect-checkers.ts'
import type { Checker } from './model.ts'
import { restCheckers } from './rest-checkers.ts'
import { safeguardCheckers } from './safeguard-checkers.ts'

export const CHECKERS: readonly Checker[] = [
  ...effectCheckers,
  ...safeguardCheckers,
  ...approvalCheckers,
  ...configCheckers,
  ...assignmentCheckers,
  ...costCheckers,
  ...restCheckers,
]
