/**
 * Which client a request counts for, where an amount is shared among clients.
 *
 * What must stay true: it rests on what the connection and the proof of the request show, and on
 * nothing that a client may choose; operators (a token of the file, or this machine where nothing
 * has to be shown) are a group of their own, so users, however many, cannot crowd them out.
 * Accounts that one tenant may make at will are one holder.
 */
import { isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { User } from '../../ports/review.ts'
import type { Holder } from '../shares/grouped-shares.ts'
import { principalOf } from './principal.ts'

export const OPERATORS = 'operators'
export const USERS = 'users'

export function clientOf(request: FastifyRequest): Holder {
  const { by, user, cluster } = principalOf(request)
  if (user !== null) return { group: USERS, name: holderOf(user) }
  if (by === 'cluster') return { group: USERS, name: `cluster ${cluster}` }
  return { group: OPERATORS, name: `at ${sourceOf(request.ip)}` }
}

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):[^:]+$/

/** A service account counts for its namespace: who may create one there may create a thousand. */
export function holderOf({ name }: Pick<User, 'name'>): string {
  const namespace = SERVICE_ACCOUNT.exec(name)?.[1]
  return namespace === undefined ? `user ${name}` : `accounts of ${namespace}`
}

/** An address as one source: of IPv6 the first 64 bits, since one machine has all behind them. */
export function sourceOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [bare = ''] = address.split('%')
  if (!isIPv6(bare)) return address
  const [head = '', tail] = bare.split('::')
  const groupsOf = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const [before, after] = [groupsOf(head), groupsOf(tail ?? '')]
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length
  const all = [...before, ...Array<string>(Math.max(zeros, 0)).fill('0'), ...after]
  return `${all
    .slice(0, 4)
    .map((each) => Number.parseInt(each, 16).toString(16))
    .join(':')}::/64`
}
