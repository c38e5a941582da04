/**
 * One life of bootstrap tokens on two control planes alike, upstream's token cleaner on one and the
 * rule `bootstrap-tokens` on the other: at the end the same tokens remain.
 *
 * What must stay true: beside the comparison each side is held against what its own server
 * accepted. What is documented as better is counted and is no difference: upstream deletes a token
 * whose expiration is no time, deletes by uid alone after a longer expiration was accepted (late),
 * and leaves one for as long as nothing changes it where its one DELETE had failed (left).
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { Requests } from '../../process/objects.ts'
import type { Slot } from '../action.ts'
import type { TokenLife, TokenRequest } from './token-life.ts'
import { type AcceptedToken, TokenSide } from './token-side.ts'

export interface TokenTwinOptions {
  readonly life: TokenLife
  /** Unique on both planes. */
  readonly name: string
  /** Upstream first. */
  readonly planes: readonly [Requests, Requests]
  /** Of the second one's clock. */
  readonly skewMs: number
}

export interface TokenTwinResult {
  /** A line a token. */
  readonly differences: readonly string[]
  readonly late: readonly string[]
  readonly left: readonly string[]
  readonly tokens: number
  readonly expired: number
  readonly raced: number
  /** Kept by Kinfold alone: their expiration is no time. */
  readonly noTime: number
}

type Sides = readonly [TokenSide, TokenSide]

interface Acting extends TokenTwinOptions {
  readonly sides: Sides
  readonly raced: Set<Slot>
  /** The slot whose name a slot has. */
  readonly names: Map<Slot, Slot>
  readonly left: Map<Slot, string>
}

/**
 * A difference that lasts this long is one: where connections break again and again, client-go
 * waits up to a minute before it watches again.
 */
const EQUAL_WITHIN_MS = 150_000
const LOOK_EVERY_MS = 1_000
/** A deletion by hand so soon after or before the expiry may come first or not. */
const RACE_AFTER_MS = 5_000
const RACE_BEFORE_MS = 1_500
/** What is due later than this is not awaited. */
const AWAITED_MS = 60_000

export async function runTokenTwin(options: TokenTwinOptions): Promise<TokenTwinResult> {
  const { life, name, planes, skewMs } = options
  const sides: Sides = [new TokenSide(planes[0], name), new TokenSide(planes[1], name)]
  const fresh = { raced: new Set<Slot>(), names: new Map<Slot, Slot>() }
  const acting: Acting = { ...options, ...fresh, sides, left: new Map() }
  for (const { pauseMs, actions } of life.steps) {
    await delay(pauseMs)
    for (const action of actions) await act(action, acting)
  }
  const endMs = Date.now() + AWAITED_MS
  await pastAllDue(sides, endMs, skewMs)
  await both(sides, (side) => side.expireOne(side === sides[0]))
  let found = await compared(acting, endMs)
  const deadline = performance.now() + EQUAL_WITHIN_MS
  while (found.differences.length > 0 && performance.now() < deadline) {
    await delay(LOOK_EVERY_MS)
    found = await compared(acting, endMs)
  }
  // What is deleted too much may be deleted last.
  await both(sides, (side) => side.expireOne(side === sides[0]))
  const last = found.differences.length > 0 ? found : await compared(acting, endMs)
  const tokens = [...sides[1].tokens.values()]
  const isKept = (token: AcceptedToken): boolean =>
    token.as === 'token' && !token.isRemoved && token.due === 'no time'
  return {
    ...last,
    left: [...acting.left.values()],
    tokens: tokens.length,
    expired: tokens.filter((token) => !token.isRemoved && isDue(token, 1, endMs)).length,
    raced: acting.raced.size,
    noTime: tokens.filter(isKept).length,
  }
}

async function act(action: TokenRequest, acting: Acting): Promise<void> {
  const { sides, raced } = acting
  if (action.type === 'expire' && action.dueMs !== null) {
    const due = sides[1].tokens.get(action.slot)?.due
    const waitMs = typeof due === 'number' ? due + action.dueMs - Date.now() : 0
    if (waitMs > 0 && waitMs < AWAITED_MS) await delay(waitMs)
  }
  const nowS = Math.floor(Date.now() / 1_000)
  const [upstream, kinfold] = await both(sides, (side) => side.apply(action, nowS))
  const isRace = action.type === 'remove' && isNear(action.slot, acting)
  if (upstream !== kinfold || isRace) raced.add(action.slot)
  if (action.type !== 'make') return
  // Whether a name is free depends on what had it before.
  acting.names.set(action.slot, action.name)
  const named = [...acting.names].flatMap(([slot, has]) => (has === action.name ? slot : []))
  if (named.some((slot) => raced.has(slot))) for (const slot of named) raced.add(slot)
}

function isNear(slot: Slot, { sides, skewMs }: Acting): boolean {
  const now = Date.now()
  const skew = Math.abs(skewMs)
  return sides.some(({ tokens }) => {
    const due = tokens.get(slot)?.due
    if (due === 'no time') return true
    if (due === undefined || due === 'none') return false
    return now - due > -RACE_BEFORE_MS - skew && now - due < RACE_AFTER_MS + skew
  })
}

async function pastAllDue(sides: Sides, endMs: number, skewMs: number): Promise<void> {
  const all = sides.flatMap(({ tokens }) => [...tokens.values()].map(({ due }) => due))
  const awaited = all.flatMap((due) => (typeof due === 'number' && due < endMs ? due : []))
  await delay(Math.max(0, Math.max(0, ...awaited) + Math.max(0, -skewMs) - Date.now()))
}

/** `side`: 0 is upstream. */
function isDue({ as, due }: AcceptedToken, side: number, endMs: number): boolean {
  if (as !== 'token' || due === 'none') return false
  return due === 'no time' ? side === 0 : due < endMs
}

type Compared = Pick<TokenTwinResult, 'differences' | 'late'>

async function compared(acting: Acting, endMs: number): Promise<Compared> {
  const { sides, raced } = acting
  const late: string[] = []
  const differences: string[] = []
  for (const slot of new Set(sides.flatMap(({ tokens }) => [...tokens.keys()]))) {
    const states = await both(sides, async (side) => {
      const token = side.tokens.get(slot)
      return token === undefined ? 'not made' : await side.stateOf(token)
    })
    const before = differences.length + late.length
    for (const [index, side] of sides.entries()) {
      const token = side.tokens.get(slot)
      if (token === undefined || token.isRemoved) continue
      const isLive = states[index] === 'live'
      if (isLive !== isDue(token, index, endMs)) continue
      const who = index === 0 ? 'upstream' : 'Kinfold'
      const what = `${token.made.name}: ${who}: ${isLive ? 'due and live' : 'not due and deleted'}`
      if (index === 0 && !isLive && token.isChanged) late.push(what)
      else differences.push(`${what} (${token.due})`)
      if (index === 0 && isLive) await leave(slot, token, acting)
    }
    if (raced.has(slot) || differences.length + late.length > before) continue
    if (sides[1].tokens.get(slot)?.due === 'no time') continue
    if (states[0] !== states[1]) differences.push(`token ${slot}: ${states.join(' | ')}`)
  }
  return { differences, late }
}

/**
 * Upstream has a single worker and has taken a later token: it has sent its one DELETE, and does
 * nothing where that fails, by a fault or with its connection. It decides anew when the token
 * changes.
 */
async function leave(slot: Slot, { made }: AcceptedToken, { sides, left }: Acting): Promise<void> {
  left.set(slot, `${made.name}: upstream left it until it was touched`)
  await sides[0].touch(slot)
}

async function both<T>(sides: Sides, work: (side: TokenSide) => Promise<T>): Promise<[T, T]> {
  return await Promise.all([work(sides[0]), work(sides[1])])
}
