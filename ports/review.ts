/**
 * Port: whom a cluster takes the bearer of a token for, and what it lets somebody do.
 *
 * Guarantees: a user is only ever told whom the cluster authenticated for our audience. Assumes: the caller never writes a token down.
 */
import type { ClusterId } from '../core/model/object.ts'

export interface User {
  readonly name: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** What somebody wants to do; empty texts stand for all of them. */
export interface Access {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly namespace: string
  readonly name: string
}

export interface Review {
  /** The cluster that is asked. */
  identify(signal: AbortSignal): Promise<ClusterId>
  /** Null: it does not know the token, or not for this audience. Rejects with `ReviewError`. */
  authenticate(token: string, audience: string, signal: AbortSignal): Promise<User | null>
  /** Rejects with `ReviewError`. */
  mayDo(user: User, access: Access, signal: AbortSignal): Promise<boolean>
}

/** It could not be asked, so nobody is let in. The message is one sentence. */
export class ReviewError extends Error {
  override readonly name = 'ReviewError'
}
