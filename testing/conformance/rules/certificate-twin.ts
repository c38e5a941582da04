/**
 * The same certificate requests, of people and of pods, on both control planes: what one pass of
 * upstream's cleaners and the rules leave of them.
 *
 * What must stay true: all of them are there before upstream's cleaners make a pass; a pass is a
 * start of kube-controller-manager, since the next one comes minutes or an hour later.
 */
import type { ControlPlane } from '../../cluster/control-plane.ts'
import type { ControllerManager } from '../../cluster/controller-manager.ts'
import { eventually } from '../../eventually.ts'
import { collectionPath, type Kind, type Made } from '../../process/objects.ts'
import { seenIn } from '../seen.ts'
import { certificateRequests, isRequestDue, makeRequest, REQUEST } from './certificate-request.ts'
import {
  drawnPodRequests,
  GATE,
  isPodRequestDue,
  makePodRequest,
  POD_REQUEST,
} from './pod-certificate-request.ts'

export interface CertificateTwin {
  readonly seeds: readonly number[]
  /** Upstream first. */
  readonly planes: readonly [ControlPlane, ControlPlane]
  readonly start: (
    controllers: readonly string[],
    args: readonly string[],
  ) => Promise<ControllerManager>
}

export interface CertificateTwinResult {
  readonly made: number
  readonly deleted: number
  readonly differences: readonly { readonly seed: number; readonly what: string }[]
}

interface Requested {
  readonly seed: number
  readonly what: string
  readonly isDue: boolean
  readonly made: readonly [Made, Made]
}

const CLEANERS = [
  'certificatesigningrequest-cleaner-controller',
  'podcertificaterequest-cleaner-controller',
] as const
const KINDS: readonly Kind[] = [REQUEST, POD_REQUEST]
/** The first pass is then, over what it has listed by then. */
const ARGS = ['--controller-start-interval=2s', `--feature-gates=${GATE}`]
const PASSES = 2
const CANARIES = 5
const HOUR_MS = 3_600_000

export async function runCertificateTwin(options: CertificateTwin): Promise<CertificateTwinResult> {
  const { planes, start } = options
  const all = await makeAllOf(options)
  // The second one deletes what the first one left, and ends as the first one may not have.
  for (let pass = 0; pass < PASSES; pass++) {
    const canaries = await Promise.all(planes.map(async (plane) => await oldOnes(plane, pass)))
    await using _manager = await start(CLEANERS, ARGS)
    let wrong: readonly Requested[] = all
    await eventually('requests are deleted', async () => {
      const left = await Promise.all(planes.map(requestsLeft))
      if (canaries.flat().some(({ uid }) => left.some((uids) => uids.has(uid))))
        return 'no pass yet'
      wrong = all.filter(({ isDue, made }) =>
        made.some(({ uid }, side) => left[side]!.has(uid) === isDue),
      )
      return wrong.length === 0 || `${wrong.length} are wrong`
    }).catch(() => {})
    if (wrong.length > 0) return { ...countOf(all), differences: wrong }
  }
  return { ...countOf(all), differences: [] }
}

function countOf(all: readonly Requested[]): Omit<CertificateTwinResult, 'differences'> {
  return { made: all.length, deleted: all.filter(({ isDue }) => isDue).length }
}

async function makeAllOf({ seeds, planes }: CertificateTwin): Promise<Requested[]> {
  const now = Date.now()
  const [upstream, kinfold] = planes
  const all: Requested[] = []
  for (const seed of seeds) {
    for (const request of certificateRequests(seed)) {
      const left = await makeRequest(upstream, request, now)
      const right = await makeRequest(kinfold, request, now)
      all.push({ ...told(seed, request, isRequestDue(request)), made: [left, right] })
    }
    for (const request of drawnPodRequests(seed)) {
      const left = await makePodRequest(upstream, request, now)
      const right = await makePodRequest(kinfold, request, now)
      all.push({ ...told(seed, request, isPodRequestDue(request)), made: [left, right] })
    }
  }
  return all
}

function told(seed: number, request: object, isDue: boolean): Omit<Requested, 'made'> {
  return { seed, isDue, what: `${JSON.stringify(request)}, due: ${isDue}` }
}

/** Uids of all that are left and not being deleted. */
async function requestsLeft(plane: ControlPlane): Promise<ReadonlySet<string>> {
  const everywhere = KINDS.map((kind) => collectionPath({ ...kind, namespaced: false }, ''))
  const seen = await Promise.all(everywhere.map(async (path) => await seenIn(plane, path)))
  return new Set(seen.flat().flatMap(({ uid, deleting }) => (deleting ? [] : [uid])))
}

/** The order of a pass is random: once all of them are deleted, it is over or nearly so. */
async function oldOnes(plane: ControlPlane, pass: number): Promise<Made[]> {
  const made: Made[] = []
  for (let index = 0; index < CANARIES; index++) {
    const name = `canary-${pass}-${index}`
    const conditions = [{ type: 'Denied', agoMs: 2 * HOUR_MS }]
    const rest = { certificate: 'none', agoMs: 0, again: false } as const
    made.push(await makeRequest(plane, { name, conditions, ...rest }, Date.now()))
    const old = { name, agoMs: HOUR_MS, again: false, isHeld: false }
    made.push(await makePodRequest(plane, old, Date.now()))
  }
  return made
}
