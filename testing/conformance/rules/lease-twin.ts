/**
 * The same Leases of API servers on both control planes: what an API server's own collector and the
 * rule `api-server-leases` leave of them.
 *
 * What must stay true: upstream's collector is a part of the API server. It makes one pass when
 * that starts and the next an hour later, so each pass here is a restart; on the other side the
 * feature gate `APIServerIdentity` is off, and nothing but the rule deletes these. Each side is
 * held against what its own server accepted. An API server sends no request of its collector over
 * a network, so faults are the other side's alone.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { ControlPlane } from '../../cluster/control-plane.ts'
import { eventually } from '../../eventually.ts'
import { atOnce, collectionPath } from '../../process/objects.ts'
import {
  type AcceptedLease,
  type DrawnLease,
  drawnLeases,
  HOUR_S,
  IDENTITY,
  LEASE,
  leaseState,
  makeLease,
  removeLease,
  renewLease,
} from './server-lease.ts'

/** For the side without a collector of its own. */
export const NO_IDENTITY: readonly string[] = [
  '--feature-gates=APIServerIdentity=false,UnknownVersionInteroperabilityProxy=false',
]

export interface LeaseTwin {
  readonly seeds: readonly number[]
  /** Upstream first. */
  readonly planes: readonly [ControlPlane, ControlPlane]
  /** Of the second one's clock. */
  readonly skewMs: number
  /** Breaks all connections of the rules' collector. */
  readonly onBreak: () => void
}

export interface LeaseTwinResult {
  readonly made: number
  /** By Kinfold's side. */
  readonly deleted: number
  /** Kept by Kinfold alone: they lack a field. */
  readonly noTime: number
  readonly differences: readonly string[]
}

/** As a server accepted it; undefined: it was removed by hand, and a finalizer held its name. */
type Lease = AcceptedLease | undefined

/** What is due later than this is not awaited. */
const AWAITED_MS = 60_000
const PASSES = 2
const BREAK_EVERY_MS = 1_500

export async function runLeaseTwin(options: LeaseTwin): Promise<LeaseTwinResult> {
  const { seeds, planes, skewMs, onBreak } = options
  const drawn = seeds.flatMap(drawnLeases)
  const breaks = setInterval(onBreak, BREAK_EVERY_MS)
  const ofSide = async (plane: ControlPlane): Promise<Lease[]> =>
    await Promise.all(drawn.map(async (each) => await live(plane, each)))
  const sides = await Promise.all(planes.map(ofSide)).finally(() => clearInterval(breaks))
  const endMs = Date.now() + AWAITED_MS
  await pastAllDue(sides.flat(), endMs, skewMs)
  const differences = await passes(planes, sides, endMs)
  const ours = sides[1]!.flatMap((lease) => lease ?? [])
  return {
    made: ours.length,
    deleted: ours.filter((lease) => isDue(lease, 1, endMs)).length,
    noTime: ours.filter(({ as, due }) => as === 'server' && due === undefined).length,
    differences,
  }
}

async function live(plane: ControlPlane, drawn: DrawnLease): Promise<Lease> {
  const first = await makeLease(plane, drawn, Math.floor(Date.now() / 1_000))
  if (first === undefined) throw new Error(`${drawn.name} was not made`)
  if (drawn.next === 'stays') return first
  const waitMs = (first.due ?? 0) + drawn.aroundDueMs - Date.now()
  if (waitMs > 0 && waitMs < AWAITED_MS) await delay(waitMs)
  const nowS = Math.floor(Date.now() / 1_000)
  if (drawn.next === 'is renewed') {
    await renewLease(plane, first, nowS)
    return first
  }
  await removeLease(plane, first)
  return await makeLease(plane, { ...drawn, renewedS: 0, durationS: HOUR_S, isHeld: false }, nowS)
}

async function pastAllDue(all: readonly Lease[], endMs: number, skewMs: number): Promise<void> {
  const times = all.flatMap((lease) => lease?.due ?? [])
  const last = Math.max(0, ...times.filter((due) => due < endMs))
  await delay(Math.max(0, last + Math.max(0, -skewMs) - Date.now()))
}

/** `side`: 0 is upstream, for which a Lease without a field is due. */
function isDue({ as, due }: AcceptedLease, side: number, endMs: number): boolean {
  if (as !== 'server') return false
  return due === undefined ? side === 0 : due < endMs
}

/** The first one may not have ended when all was as it should be; the second one ends it. */
async function passes(
  planes: LeaseTwin['planes'],
  sides: readonly (readonly Lease[])[],
  endMs: number,
): Promise<readonly string[]> {
  let wrong: readonly string[] = []
  for (let pass = 0; pass < PASSES; pass++) {
    await planes[0].killApiserver()
    await planes[0].startApiserver()
    await eventually('Leases are deleted', async () => {
      const both = planes.map(async (_, side) => await wrongOn(planes, sides, side, endMs))
      wrong = (await Promise.all(both)).flat()
      return wrong.length === 0 || `${wrong.length} are wrong`
    }).catch(() => {})
    if (wrong.length > 0) return wrong
  }
  return (await ownLeases(planes[0])) > 0 ? [] : ["upstream: the API server's own is gone"]
}

async function wrongOn(
  planes: LeaseTwin['planes'],
  sides: readonly (readonly Lease[])[],
  side: number,
  endMs: number,
): Promise<string[]> {
  const all = sides[side]!.flatMap((lease) => lease ?? [])
  const found = await atOnce(all, async (lease) => {
    const state = await leaseState(planes[side]!, lease)
    if ((state === 'live') !== isDue(lease, side, endMs)) return []
    const who = side === 0 ? 'upstream' : 'Kinfold'
    const what = state === 'live' ? 'due and live' : `not due and ${state}`
    return [`${lease.made.name}: ${who}: ${what} (${lease.due})`]
  })
  return found.flat()
}

async function ownLeases(plane: ControlPlane): Promise<number> {
  const selector = encodeURIComponent(`${IDENTITY}=kube-apiserver,kubernetes.io/hostname`)
  const path = `${collectionPath(LEASE, 'kube-system')}?labelSelector=${selector}`
  const { body } = await plane.request<{ readonly items: readonly unknown[] }>('GET', path)
  return body.items.length
}
