/**
 * Port: the user that a cluster recognises by a token, and what it allows a user to do.
 *
 * Guarantees: a returned user was authenticated by the cluster for our audience. Assumes: the
 * caller never writes a token down.
 */
import type { ClusterId } from '../core/model/object.ts'

export interface User {
  readonly name: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** An access that a user requests; empty texts mean all of them. */
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

/** It could not be asked, so no user is admitted. The message is one sentence. */
export class ReviewError extends Error {
  override readonly name = 'ReviewError'
}
