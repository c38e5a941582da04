/**
 * A checker for each invariant, with the states that must never be seen: in the moment of an
 * effect, when a request leaves, when something is appended, and at rest. The list below is all of
 * them; another invariant is another entry.
 *
 * What must stay true: a checker shares no code with the graph and never waits; it answers with one
 * sentence, or nothing.
 *
 * Not here: the type of a checker (model.ts), the meaning of ownership in the API (oracle.ts).
 */
import { approvalCheckers } from '../fault/approvals.ts'
import { assignmentCheckers } from '../fault/assignments.ts'
import { configCheckers } from '../fault/configured.ts'
import type { Checker } from '../model.ts'
import { byteCheckers } from './byte-checkers.ts'
import { costCheckers } from './cost-checkers.ts'
import { effectCheckers } from './effect-checkers.ts'
import { elsewhereCheckers } from './elsewhere-checkers.ts'
import { restCheckers } from './rest-checkers.ts'
import { ruleCheckers } from './rule-checkers.ts'
import { safeguardCheckers } from './safeguard-checkers.ts'

export const CHECKERS: readonly Checker[] = [
  // First: others ask by what a deletion is.
  ...ruleCheckers,
  ...elsewhereCheckers,
  ...effectCheckers,
  ...safeguardCheckers,
  ...approvalCheckers,
  ...configCheckers,
  ...assignmentCheckers,
  ...costCheckers,
  ...byteCheckers,
  ...restCheckers,
]
