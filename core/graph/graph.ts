/**
 * The state that a fold reads and changes, by keys; and what all clusters share of it.
 *
 * What must stay true: every read sees every earlier change, in points and in pages alike.
 *
 * Not here: what is asked of one cluster (facts.ts), how changes are laid over the stored values
 * (services/graph/fold/bytes), their meaning (fold.ts).
 */
import { invariant } from '../model/invariant.ts'
import { DEFAULT_POLICY } from '../model/policy.ts'
import type { Agenda, Directives, PolicyState, StateValue } from '../model/state.ts'
import { AGENDA_KEY, DIRECTIVES_KEY, POLICY_KEY } from './key.ts'

export interface StateReader {
  get(key: string): StateValue | undefined
}

export interface Graph extends StateReader {
  put(key: string, value: StateValue): void
  remove(key: string): void
  /**
   * The stored keys with the changes laid over them: all keys with this prefix after
   * `after`, up to and including `upTo` (undefined: to the end), in order. `stored` must hold all
   * of the store's in that range.
   */
  overlaid(stored: readonly string[], range: OverlaidRange): readonly string[]
}

export interface OverlaidRange {
  readonly prefix: string
  readonly after: string
  readonly upTo: string | undefined
}

export function policyOf(graph: StateReader): PolicyState {
  return typed(graph.get(POLICY_KEY), 'PolicyState') ?? NO_POLICY
}

export function directivesOf(graph: StateReader): Directives {
  return typed(graph.get(DIRECTIVES_KEY), 'Directives') ?? NO_DIRECTIVES
}

export function agendaOf(graph: StateReader): Agenda {
  return typed(graph.get(AGENDA_KEY), 'Agenda') ?? EMPTY_AGENDA
}

/** Before any was folded: records only, as if in `observe`. */
const NO_POLICY: PolicyState = {
  type: 'PolicyState',
  policy: { ...DEFAULT_POLICY, mode: 'observe' },
  position: -1n,
  enforcedAt: -1n,
  former: null,
}

const NO_DIRECTIVES: Directives = {
  type: 'Directives',
  pauses: [],
  protections: [],
  rules: [],
  forgotten: [],
  resumedAt: 0n,
}

const EMPTY_AGENDA: Agenda = { type: 'Agenda', head: 0, tail: 0 }

/** A value of the table that its key belongs to. */
export function typed<T extends StateValue['type']>(
  value: StateValue | undefined,
  type: T,
): Extract<StateValue, { type: T }> | undefined {
  invariant(value === undefined || value.type === type, 'a key holds a value of another type')
  return value as Extract<StateValue, { type: T }> | undefined
}
