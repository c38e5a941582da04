/**
 * Who asks: what a request proved of itself, kept beside it for its handlers.
 *
 * What must stay true: nothing of what was shown to prove it is kept, passed on or logged; a client
 * that proved nothing is named so.
 *
 * Not here: proving it (endpoint.ts), what it may (the services).
 */
import type { FastifyRequest } from 'fastify'
import type { User } from '../../ports/review.ts'

export interface Principal {
  /**
   * - `local`: came over loopback where nothing has to be shown.
   * - `token`: showed a token of the file.
   * - `user`: a cluster said who it is.
   * - `cluster`: showed the token of a
   * cluster, which lets it in where that cluster's own servers report something, and nowhere else.
   */
  readonly by: 'local' | 'token' | 'user' | 'cluster'
  /** Of `user`: as the cluster has it. */
  readonly user: User | null
  /** Of `cluster`: its name or id, as the file of tokens has it. */
  readonly cluster?: string
}

const LOCAL: Principal = { by: 'local', user: null }

const principals = new WeakMap<object, Principal>()

export function setPrincipal(request: FastifyRequest, principal: Principal): void {
  principals.set(request.raw, principal)
}

/** Where nothing has to be shown, only this machine can ask. */
export function principalOf(request: FastifyRequest): Principal {
  return principals.get(request.raw) ?? LOCAL
}

/** It proved something of itself. */
export function isPrincipal(request: FastifyRequest): boolean {
  return principals.has(request.raw)
}

/**
 * For the record: `local:ann` and `token:ann` are as they say of themselves, `user:ann` is proven.
 */
export function whoIs({ by, user }: Principal, claimed: string): string {
  return user === null ? `${by}:${claimed}` : `user:${user.name}`
}
