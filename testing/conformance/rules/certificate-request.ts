/**
 * Random certificate signing requests from a seed, for one pass of upstream's cleaner and for the
 * rule `certificate-requests`: with conditions of given times, and certificates that have expired
 * or have not; of any age where they have none of both.
 *
 * What must stay true: which of them are due is said by their conditions and their age alone.
 */
import type { ControlPlane } from '../../cluster/control-plane.ts'
import {
  type Kind,
  kind,
  type Made,
  make,
  pathOf,
  type Requests,
  remove,
} from '../../process/objects.ts'
import { seeded } from '../../seeded.ts'
import { putBack } from './restored.ts'

export interface CertificateRequest {
  readonly name: string
  readonly conditions: readonly { readonly type: string; readonly agoMs: number }[]
  readonly certificate: 'none' | 'expired' | 'valid'
  /** Its age; zero: as the server sets it. */
  readonly agoMs: number
  /** It has the name of another one that was due. */
  readonly again: boolean
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const AGES_MS = [
  ...[-HOUR_MS, 0, 50 * MINUTE_MS, 70 * MINUTE_MS, 2 * HOUR_MS],
  ...[DAY_MS - 10 * MINUTE_MS, DAY_MS + 10 * MINUTE_MS, 30 * DAY_MS],
] as const satisfies readonly number[]
const TYPES: readonly [readonly string[], ...(readonly string[])[]] = [
  ...([[], ['Denied'], ['Failed'], ['Approved']] as const),
  ...([['Approved'], ['Approved'], ['Approved', 'Failed'], ['Denied', 'Failed']] as const),
]
const OF_A_SEED = 6

export function certificateRequests(seed: number): readonly CertificateRequest[] {
  const chance = seeded(seed)
  const [first = 0, ...ages] = AGES_MS
  return Array.from({ length: OF_A_SEED }, (_, index) => {
    const types = chance.pick(TYPES)
    const conditions = types.map((type) => ({ type, agoMs: chance.pick([first, ...ages]) }))
    const drawn = chance.pick(['none', 'none', 'expired', 'valid'] as const)
    const certificate = types.includes('Approved') ? drawn : 'none'
    const again = chance.next() < 0.2
    const agoMs = types.length === 0 ? Math.max(0, chance.pick([first, ...ages])) : 0
    return { name: `csr-${seed}-${index}`, conditions, certificate, agoMs, again }
  })
}

/** As upstream's source has it; see docs/operate/rules.md. */
export function isRequestDue({ conditions, certificate, agoMs }: CertificateRequest): boolean {
  if (conditions.length === 0) return agoMs > DAY_MS
  const isOld = (type: string, ms: number): boolean =>
    conditions.some((each) => each.type === type && each.agoMs > ms)
  if (isOld('Denied', HOUR_MS) || isOld('Failed', HOUR_MS)) return true
  if (certificate === 'none') return isOld('Approved', DAY_MS)
  return certificate === 'expired' || isOld('Approved', HOUR_MS)
}

export async function makeRequest(
  plane: ControlPlane,
  request: CertificateRequest,
  now: number,
): Promise<Made> {
  if (request.again) {
    const old = { ...request, conditions: [], certificate: 'none' } as const
    await remove(plane, await makeOne(plane, old, now))
  }
  const made = await makeOne(plane, request, now)
  return request.agoMs === 0 ? made : await putBack(plane, made, now - request.agoMs)
}

async function makeOne(
  plane: Requests,
  { name, conditions, certificate }: CertificateRequest,
  now: number,
): Promise<Made> {
  const made = await make(plane, { kind: REQUEST, name })
  const all = conditions.map(({ type, agoMs }) => {
    const time = new Date(now - agoMs).toISOString()
    return { type, status: 'True', reason: 'Conformance', lastUpdateTime: time }
  })
  const decided = all.filter(({ type }) => type !== 'Failed')
  if (decided.length > 0) await patch(plane, made, 'approval', { conditions: decided })
  const issued = certificate === 'none' ? {} : { certificate: base64(CERTIFICATES[certificate]) }
  if (all.length > decided.length || certificate !== 'none') {
    await patch(plane, made, 'status', { conditions: all, ...issued })
  }
  return made
}

async function patch(plane: Requests, made: Made, below: string, status: object): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' }
  const { status: code, body } = await plane.request(
    'PATCH',
    `${pathOf(made)}/${below}`,
    { status },
    headers,
  )
  if (code !== 200) throw new Error(`${made.name}/${below}: ${code} ${JSON.stringify(body)}`)
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function pem(label: string, body: string): string {
  const lines = body.match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}

/** For keys that do not exist. */
const CERTIFICATES = {
  expired: pem(
    'CERTIFICATE',
    [
      'MIIBGDCBv6ADAgECAgEBMAoGCCqGSM49BAMCMBYxFDASBgNVBAMTC2NvbmZvcm1h',
      'bmNlMB4XDTIwMDEwMTAwMDAwMFoXDTIxMDEwMTAwMDAwMFowFjEUMBIGA1UEAxML',
      'Y29uZm9ybWFuY2UwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATMhRD/syTxZsGL',
      '0s4xN0FSsL07J/VgQXaXn/WRT9QsnX2FFWlzE102sXRpUIrdUqEoK26v7qTWHpvv',
      'AMi+Dra9MAoGCCqGSM49BAMCA0gAMEUCIAaSKQKpPjumhP93jjaRpie8wVd48nxE',
      'sM2+VkggADQDAiEAjkhWqi9xlabT5/IJ03KBdm1BhNrtGlGVC34WhjHntMY=',
    ].join(''),
  ),
  valid: pem(
    'CERTIFICATE',
    [
      'MIIBGjCBwaADAgECAgEBMAoGCCqGSM49BAMCMBYxFDASBgNVBAMTC2NvbmZvcm1h',
      'bmNlMCAXDTIwMDEwMTAwMDAwMFoYDzIwOTkwMTAxMDAwMDAwWjAWMRQwEgYDVQQD',
      'Ewtjb25mb3JtYW5jZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABMyFEP+zJPFm',
      'wYvSzjE3QVKwvTsn9WBBdpef9ZFP1CydfYUVaXMTXTaxdGlQit1SoSgrbq/upNYe',
      'm+8AyL4Otr0wCgYIKoZIzj0EAwIDSAAwRQIgHGe+mOYpfX+sSOtBn1zcY1xj+tiM',
      'dgnUafrPQKuFrm4CIQDnfjCh1j8DYRgGjDS2wkezReGWjwiemHE9PmAW/+Vbmw==',
    ].join(''),
  ),
}

export const REQUEST: Kind = {
  ...kind('certificates.k8s.io/v1', 'CertificateSigningRequest', 'certificatesigningrequests'),
  namespaced: false,
  body: {
    spec: {
      signerName: 'conformance.test/signer',
      usages: ['digital signature', 'client auth'],
      request: base64(
        pem(
          'CERTIFICATE REQUEST',
          [
            'MIHPMHgCAQAwFjEUMBIGA1UEAwwLY29uZm9ybWFuY2UwWTATBgcqhkjOPQIBBggq',
            'hkjOPQMBBwNCAATCgAvj+kC967AkGP5JB+8bIwwJtXXtcbv2UJ6jljSMwqDHqu42',
            'iYZgclmfT2XaA3Sx0UoWHWWkGE7m5m0cSgOnoAAwCgYIKoZIzj0EAwIDRwAwRAIg',
            'FG7iSdUAG2sQ/DvZokxBGPdf/S/tGi8Yg1/0NmGf7OMCIEndybu/qT+0Ih3Z3lK+',
            'm4PfpPkSH9Tl/oXfZIRbaPsA',
          ].join(''),
        ),
      ),
    },
  },
}
