/**
 * One life of bootstrap tokens on one control plane: carries out its actions as a user would, and
 * knows what its server accepted.
 *
 * What must stay true: each request names the uid it means, so it never reaches a Secret that has
 * the name of a former one.
 */
import { eventually } from '../../eventually.ts'
import {
  collectionPath,
  type Kind,
  type Made,
  pathOf,
  type Requests,
  SECRET,
} from '../../process/objects.ts'
import type { Slot } from '../action.ts'
import { HOLD } from '../world.ts'
import type { Expiration, MakeToken, TokenRequest, Zone } from './token-life.ts'

/** Milliseconds since 1970; `none` is never, `no time` is a text that says none. */
export type Due = number | 'none' | 'no time'

export interface AcceptedToken {
  readonly made: Made
  readonly as: MakeToken['as']
  due: Due
  isRemoved: boolean
  isChanged: boolean
}

/** `live`, `being deleted`, or the code of another answer. */
export type TokenSaid = string

interface Stored {
  readonly metadata?: {
    readonly uid: string
    readonly resourceVersion: string
    readonly deletionTimestamp?: string
  }
}

const TOKEN = 'bootstrap.kubernetes.io/token'
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' }
const TOUCH_EVERY_MS = 1_000

export class TokenSide {
  readonly plane: Requests
  readonly prefix: string
  readonly tokens: Map<Slot, AcceptedToken> = new Map()
  #canaries = 0
  #touches = 0

  constructor(plane: Requests, prefix: string) {
    this.plane = plane
    this.prefix = prefix
  }

  /** `nowS`: the same for both sides, in seconds since 1970. */
  async apply(action: TokenRequest, nowS: number): Promise<TokenSaid> {
    switch (action.type) {
      case 'make':
        return await this.#make(action, `${this.prefix}-${action.name}`, nowS)
      case 'expire': {
        const data = { expiration: dataOf(action.expiration, nowS)?.expiration ?? null }
        const said = await this.#patch(action.slot, { data })
        const due = dueOf(action.expiration, nowS)
        const token = this.tokens.get(action.slot)
        if (said === 'live') Object.assign(token!, { due, isChanged: true })
        return said
      }
      case 'touch':
        return await this.touch(action.slot)
      case 'release':
        return await this.#patch(action.slot, { metadata: { finalizers: null } })
      case 'remove':
        return await this.#remove(action.slot)
    }
  }

  /** A change that changes nothing: upstream decides about it anew. */
  async touch(slot: Slot): Promise<TokenSaid> {
    const annotations = { touched: `${this.#touches++}` }
    return await this.#patch(slot, { metadata: { annotations } })
  }

  /**
   * A token that is past its time is deleted. `isTouched`: upstream does not repeat a DELETE that
   * failed before the token changes.
   */
  async expireOne(isTouched: boolean): Promise<void> {
    const slot = -1 - this.#canaries++
    const name = `${this.prefix}-canary-${this.#canaries}`
    const expiration = { inS: -1, zone: 'Z' } as const
    const make = { type: 'make', slot, name: slot, expiration, as: 'token', isHeld: false } as const
    await this.#make(make, name, Math.floor(Date.now() / 1_000))
    const { made } = this.tokens.get(slot)!
    let touchedAt = performance.now()
    await eventually(`${name} expires`, async () => {
      const { status } = await this.plane.request('GET', pathOf(made))
      if (status === 404) return true
      if (isTouched && performance.now() - touchedAt > TOUCH_EVERY_MS) {
        touchedAt = performance.now()
        await this.touch(slot)
      }
      return `${status}`
    })
    this.tokens.delete(slot)
  }

  /** `gone`, `live`, or `being deleted`. */
  async stateOf({ made }: AcceptedToken): Promise<string> {
    const { status, body } = await this.plane.request<Stored>('GET', pathOf(made))
    if (status !== 200 && status !== 404) return `${status}`
    if (status === 404 || body.metadata?.uid !== made.uid) return 'gone'
    return body.metadata.deletionTimestamp === undefined ? 'live' : 'being deleted'
  }

  async #make(
    { slot, expiration, as, isHeld }: MakeToken,
    name: string,
    nowS: number,
  ): Promise<TokenSaid> {
    const namespace = as === 'elsewhere' ? 'default' : 'kube-system'
    const kind: Kind = SECRET
    const { status, body } = await this.plane.request<Stored>(
      'POST',
      collectionPath(kind, namespace),
      {
        apiVersion: kind.apiVersion,
        kind: kind.kind,
        metadata: { name, ...(isHeld && { finalizers: [HOLD] }) },
        type: as === 'opaque' ? 'Opaque' : TOKEN,
        data: { 'token-id': base64('abcdef'), ...dataOf(expiration, nowS) },
      },
    )
    if (status !== 201) return `${status}`
    const { uid, resourceVersion } = body.metadata!
    const made = { kind, namespace, name, uid, resourceVersion }
    const fresh = { isRemoved: false, isChanged: false }
    this.tokens.set(slot, { made, as, due: dueOf(expiration, nowS), ...fresh })
    return 'live'
  }

  async #remove(slot: Slot): Promise<TokenSaid> {
    const token = this.tokens.get(slot)
    if (token === undefined) return 'nothing'
    const { status } = await this.plane.request('DELETE', pathOf(token.made), {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid: token.made.uid },
    })
    if (status < 300) token.isRemoved = true
    return `${status}`
  }

  async #patch(
    slot: Slot,
    patch: { readonly metadata?: object; readonly data?: object },
  ): Promise<TokenSaid> {
    const token = this.tokens.get(slot)
    if (token === undefined) return 'nothing'
    const metadata = { ...patch.metadata, uid: token.made.uid }
    const all = { ...patch, metadata }
    const path = pathOf(token.made)
    const { status, body } = await this.plane.request<Stored>('PATCH', path, all, MERGE_PATCH)
    if (status !== 200) return `${status}`
    return body.metadata?.deletionTimestamp === undefined ? 'live' : 'being deleted'
  }
}

function dataOf(expiration: Expiration, nowS: number): { readonly expiration: string } | undefined {
  if (expiration === 'none') return undefined
  if ('text' in expiration) return { expiration: base64(expiration.text) }
  return { expiration: base64(shownTime(nowS + expiration.inS, expiration.zone)) }
}

function dueOf(expiration: Expiration, nowS: number): Due {
  if (expiration === 'none') return 'none'
  if ('text' in expiration) return 'no time'
  return (nowS + expiration.inS) * 1_000 + (expiration.zone === '.250Z' ? 250 : 0)
}

const OFFSET_S = 5.5 * 3_600

function shownTime(atS: number, zone: Zone): string {
  const shiftedS = zone === '+05:30' ? atS + OFFSET_S : atS
  return new Date(shiftedS * 1_000).toISOString().replace('.000Z', zone)
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}
