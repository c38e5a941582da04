/**
 * Random Leases of API servers from a seed, for the collector of an API server itself and for the
 * rule `api-server-leases`: expired, renewed in time or when it is too late, made again under their
 * name, of something else, and without a time.
 *
 * What must stay true: which of them are due is said by what a server accepted, and by nothing of
 * the collectors.
 */
import {
  collectionPath,
  type Kind,
  kind,
  type Made,
  pathOf,
  type Requests,
} from '../../process/objects.ts'
import { seeded } from '../../seeded.ts'
import { HOLD } from '../world.ts'

export interface DrawnLease {
  readonly name: string
  /** Only a `server` is one: by its label, and in kube-system. */
  readonly as: 'server' | 'other' | 'elsewhere'
  /** From its making; null: it has no such field. */
  readonly renewedS: number | null
  readonly durationS: number | null
  readonly isHeld: boolean
  /** When it is due, by the wall clock: renewed, or removed by hand and made again renewed. */
  readonly next: 'stays' | 'is renewed' | 'is made again'
  /** Of what comes then; zero: at once. */
  readonly aroundDueMs: number
}

export interface AcceptedLease {
  readonly made: Made
  readonly as: DrawnLease['as']
  /** Milliseconds since 1970; undefined: it lacks a field. */
  due: number | undefined
}

export const LEASE: Kind = kind('coordination.k8s.io/v1', 'Lease', 'leases')
export const IDENTITY = 'apiserver.kubernetes.io/identity'
export const HOUR_S = 3_600
const OF_A_SEED = 5
const RENEWED_S = [-2 * HOUR_S, -2 * HOUR_S, -HOUR_S - 5, -1, -1, 0, 0, HOUR_S] as const
const DURATIONS_S = [1, 2, 3, HOUR_S, HOUR_S] as const
/** A part of the seconds of a renewal, as API servers write it. */
const MICRO = '123456Z'

export function drawnLeases(seed: number): readonly DrawnLease[] {
  const chance = seeded(seed)
  return Array.from({ length: OF_A_SEED }, (_, index) => ({
    name: `apiserver-${seed}-${index}`,
    as: chance.pick(['server', 'server', 'server', 'server', 'other', 'elsewhere'] as const),
    renewedS: chance.next() < 0.08 ? null : chance.pick(RENEWED_S),
    durationS: chance.next() < 0.08 ? null : chance.pick(DURATIONS_S),
    isHeld: chance.next() < 0.1,
    next: chance.pick(['stays', 'stays', 'stays', 'is renewed', 'is made again'] as const),
    aroundDueMs: chance.below(200) - 150,
  }))
}

/** Undefined where its name is not free. */
export async function makeLease(
  plane: Requests,
  { name, as, renewedS, durationS, isHeld }: DrawnLease,
  nowS: number,
): Promise<AcceptedLease | undefined> {
  const namespace = as === 'elsewhere' ? 'default' : 'kube-system'
  const identity = as === 'other' ? 'kube-scheduler' : 'kube-apiserver'
  const { status, body } = await plane.request<{
    readonly metadata: { readonly uid: string; readonly resourceVersion: string }
  }>('POST', collectionPath(LEASE, namespace), {
    apiVersion: LEASE.apiVersion,
    kind: LEASE.kind,
    metadata: { name, labels: { [IDENTITY]: identity }, ...(isHeld && { finalizers: [HOLD] }) },
    spec: {
      holderIdentity: name,
      ...(renewedS !== null && { renewTime: shownTime(nowS + renewedS) }),
      ...(durationS !== null && { leaseDurationSeconds: durationS }),
    },
  })
  if (status !== 201) return undefined
  const { uid, resourceVersion } = body.metadata
  const made = { kind: LEASE, namespace, name, uid, resourceVersion }
  const isTimed = renewedS !== null && durationS !== null
  return { made, as, due: isTimed ? (nowS + renewedS + durationS) * 1_000 : undefined }
}

/** For another hour, unless it is deleted or being deleted. */
export async function renewLease(
  plane: Requests,
  lease: AcceptedLease,
  nowS: number,
): Promise<void> {
  const { uid } = lease.made
  const spec = { renewTime: shownTime(nowS), leaseDurationSeconds: HOUR_S }
  const headers = { 'content-type': 'application/merge-patch+json' }
  const patch = { metadata: { uid }, spec }
  const { status, body } = await plane.request<{
    readonly metadata?: { readonly deletionTimestamp?: string }
  }>('PATCH', pathOf(lease.made), patch, headers)
  if (status !== 200 || body.metadata?.deletionTimestamp !== undefined) return
  lease.due = (nowS + HOUR_S) * 1_000
}

/** Of that uid. */
export async function removeLease(plane: Requests, { made }: AcceptedLease): Promise<void> {
  const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: made.uid } }
  await plane.request('DELETE', pathOf(made), options)
}

/** `gone`, `live` or `being deleted`. */
export async function leaseState(plane: Requests, { made }: AcceptedLease): Promise<string> {
  const { status, body } = await plane.request<{
    readonly metadata?: { readonly uid: string; readonly deletionTimestamp?: string }
  }>('GET', pathOf(made))
  if (status === 404 || (status === 200 && body.metadata?.uid !== made.uid)) return 'gone'
  if (status !== 200) return `${status}`
  return body.metadata?.deletionTimestamp === undefined ? 'live' : 'being deleted'
}

function shownTime(atS: number): string {
  return new Date(atS * 1_000).toISOString().replace('000Z', MICRO)
}
