/**
 * A random life of bootstrap tokens from a seed, for twin runs of the rule `bootstrap-tokens`: as
 * data.
 *
 * What must stay true: it is a pure function of the seed, and names objects by slot alone.
 */
import { type Chance, seeded } from '../../seeded.ts'
import type { Slot } from '../action.ts'

/**
 * `inS`: from the moment of the request. `zone`: as the text has it. `none`: there is no such key.
 */
export type Expiration =
  | { readonly inS: number; readonly zone: Zone }
  | { readonly text: string }
  | 'none'

export type Zone = 'Z' | '+05:30' | '.250Z'

export interface MakeToken {
  readonly type: 'make'
  readonly slot: Slot
  /** The slot whose name it has. */
  readonly name: Slot
  readonly expiration: Expiration
  /** Only a `token` is one: of that type, and in kube-system. */
  readonly as: 'token' | 'opaque' | 'elsewhere'
  readonly isHeld: boolean
}

export type TokenRequest =
  | MakeToken
  /** `dueMs`: so long after it is due, by the wall clock; null: now. */
  | {
      readonly type: 'expire'
      readonly slot: Slot
      readonly expiration: Expiration
      readonly dueMs: number | null
    }
  | { readonly type: 'touch'; readonly slot: Slot }
  | { readonly type: 'remove'; readonly slot: Slot }
  | { readonly type: 'release'; readonly slot: Slot }

export interface TokenStep {
  /** Before it. */
  readonly pauseMs: number
  readonly actions: readonly TokenRequest[]
}

export interface TokenLife {
  readonly seed: number
  readonly steps: readonly TokenStep[]
}

const HOUR_S = 3_600
const SOON_S = [1, 2, 2, 3, 4] as const
const TIMES_S = [-HOUR_S, -1, ...SOON_S, HOUR_S] as const
const ZONES: readonly [Zone, ...Zone[]] = ['Z', 'Z', '+05:30', '.250Z']
/** Upstream takes each for a past one. The last is a date that Kinfold reads: it is to come. */
const NO_TIMES = ['never', '1796007955', 'tomorrow', '2099-01-01'] as const
const FIRST = 4
const MORE = 3
const STEPS = 6
const LONGEST_PAUSE_MS = 1_200
/** Raised just before or after the timer, which is when a stale read decides. */
const AROUND_DUE_MS = 160
const BEFORE_DUE_MS = 120

interface State {
  readonly chance: Chance
  /** The name of each slot. */
  readonly names: Slot[]
  readonly removed: Set<Slot>
}

export function tokenLife(seed: number): TokenLife {
  const chance = seeded(seed)
  const state: State = { chance, names: [], removed: new Set() }
  const first = Array.from({ length: FIRST + chance.below(MORE) }, () => made(state))
  const steps: TokenStep[] = [{ pauseMs: 0, actions: first }]
  for (let step = 0; step < STEPS; step++) {
    const pauseMs = chance.below(LONGEST_PAUSE_MS)
    steps.push({ pauseMs, actions: nextActions(state) })
  }
  return { seed, steps }
}

function nextActions(state: State): readonly TokenRequest[] {
  const { chance, names, removed } = state
  const dice = chance.next()
  if (dice < 0.25) return [made(state)]
  if (dice < 0.4) return raisedWhenDue(state)
  const live = names.flatMap((_, slot) => (removed.has(slot) ? [] : [slot]))
  const [head, ...tail] = live
  if (head === undefined) return [made(state)]
  const slot = chance.pick([head, ...tail])
  if (dice < 0.6) return [{ type: 'expire', slot, expiration: drawn(chance), dueMs: null }]
  if (dice < 0.7) return [{ type: 'touch', slot }]
  if (dice < 0.8) return [{ type: 'release', slot }]
  removed.add(slot)
  const remove = { type: 'remove', slot } as const
  return chance.next() < 0.7 ? [remove, made(state, names[slot])] : [remove]
}

/** One that is due soon, and gets another hour when it is. */
function raisedWhenDue(state: State): readonly TokenRequest[] {
  const { chance } = state
  const make = made(state, undefined, { inS: chance.pick(SOON_S), zone: 'Z' })
  const dueMs = chance.below(AROUND_DUE_MS) - BEFORE_DUE_MS
  const expiration = chance.next() < 0.5 ? ({ inS: HOUR_S, zone: 'Z' } as const) : 'none'
  return [make, { type: 'expire', slot: make.slot, expiration, dueMs }]
}

function made(state: State, name?: Slot, expiration?: Expiration): MakeToken {
  const { chance, names } = state
  const slot = names.length
  names.push(name ?? slot)
  const as = chance.pick(['token', 'token', 'token', 'token', 'opaque', 'elsewhere'] as const)
  const isHeld = chance.next() < 0.15
  const rest = { as: expiration === undefined ? as : ('token' as const), isHeld }
  return {
    type: 'make',
    slot,
    name: name ?? slot,
    expiration: expiration ?? drawn(chance),
    ...rest,
  }
}

function drawn(chance: Chance): Expiration {
  const dice = chance.next()
  if (dice < 0.1) return 'none'
  if (dice < 0.3) return { text: chance.pick(NO_TIMES) }
  return { inS: chance.pick(TIMES_S), zone: chance.pick(ZONES) }
}
