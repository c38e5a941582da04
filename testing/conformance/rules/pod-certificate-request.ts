/**
 * Random certificate requests of pods from a seed, for passes of upstream's cleaner and for the
 * rule `pod-certificate-requests`: of any age, made again under their name, held by a finalizer.
 *
 * What must stay true: their age alone says which are due, and none is within a minute of that.
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import type { ControlPlane } from '../../cluster/control-plane.ts'
import { type Kind, kind, type Made, make } from '../../process/objects.ts'
import { seeded } from '../../seeded.ts'
import { HOLD } from '../world.ts'
import { putBack } from './restored.ts'

/** An API server serves them with these only. */
export const SERVED: readonly string[] = ['--runtime-config=certificates.k8s.io/v1beta1=true']
export const GATE = 'PodCertificateRequest=true'

export interface DrawnPodRequest {
  readonly name: string
  readonly agoMs: number
  /** One of its name that was due was there a moment before. */
  readonly again: boolean
  readonly isHeld: boolean
}

const MINUTE_MS = 60_000
const DUE_MS = 15 * MINUTE_MS
const AGES_MIN = [0, 0, 5, 11, 17, 31, 120, 100_000] as const
const OF_A_SEED = 3
const POD_UID = '2f6d7b0e-0a6a-4d3f-8a4b-3e1d6c1a9f00'

export function drawnPodRequests(seed: number): readonly DrawnPodRequest[] {
  const chance = seeded(seed)
  return Array.from({ length: OF_A_SEED }, (_, index) => ({
    name: `pcr-${seed}-${index}`,
    agoMs: chance.pick(AGES_MIN) * MINUTE_MS,
    again: chance.next() < 0.3,
    isHeld: chance.next() < 0.15,
  }))
}

export function isPodRequestDue({ agoMs }: DrawnPodRequest): boolean {
  return agoMs > DUE_MS
}

export async function makePodRequest(
  plane: ControlPlane,
  { name, agoMs, again, isHeld }: DrawnPodRequest,
  now: number,
): Promise<Made> {
  const draft = { kind: POD_REQUEST, name, ...(isHeld && { finalizers: [HOLD] }) }
  const ages = again ? [2 * DUE_MS, agoMs] : [agoMs]
  return await putBack(plane, await make(plane, draft), ...ages.map((age) => now - age))
}

function proven(): object {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    pkixPublicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
    proofOfPossession: sign(null, Buffer.from(POD_UID), privateKey).toString('base64'),
  }
}

export const POD_REQUEST: Kind = {
  ...kind('certificates.k8s.io/v1beta1', 'PodCertificateRequest', 'podcertificaterequests'),
  body: {
    spec: {
      signerName: 'conformance.test/signer',
      podName: 'a',
      podUID: POD_UID,
      serviceAccountName: 'default',
      serviceAccountUID: '7c1f0d6e-6d0b-4d39-9d3f-52b1b7b1c7aa',
      nodeName: 'here',
      nodeUID: 'b3a9e4f2-1d7c-4c55-8a5e-0d5c6e7f8a90',
      maxExpirationSeconds: 86_400,
      ...proven(),
    },
  },
}
