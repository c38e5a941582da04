/**
 * Keys of the users' directives, in `orders`, and of the services' messages to each other, in
 * `control`; and what the records under them protect.
 *
 * What must stay true: writers and readers agree here; no user's text can forge a separator.
 *
 * Not here: relists and connections, whose keys their services know.
 */
import type { ClusterId, Uid } from '../../core/model/object.ts'
import type { Mode, Protection } from '../../core/model/policy.ts'
import { type Codec, CodecError } from './codec.ts'
import { type MarkKeys, NO_MARK_KEYS } from './manager-mark.ts'
import type { Control } from './service-record.ts'

/** Directives and policies, one under each key. */
export const ORDER_PREFIX = 'order/'
export const PAUSE_PREFIX = 'pause/'
export const PROTECT_PREFIX = 'protect/'
export const ASSIGN_PREFIX = 'partition/'
export const NAME_PREFIX = 'name/'
const POLICY = 'policy'

/** Of the policy's protection, everywhere. */
export const PROTECT_POLICY_KEY: string = PROTECT_PREFIX + POLICY

/** Of the policy's rules, and of the order to enforce one. */
export const RULE_BOOK_KEY = 'rules/policy'
export const RULE_PREFIX = 'rule/'

/** Of the marks that answers read (manager-mark.ts). */
export const MARK_BOOK_KEY = 'marks/policy'

export const POLICY_STATUS_PREFIX = 'policy-status/'

export function policyStatusKey(cluster: ClusterId, uid: Uid): string {
  return `${policyStatusPrefix(cluster)}${encodeURIComponent(uid)}`
}

export function policyStatusPrefix(cluster: ClusterId): string {
  return `${POLICY_STATUS_PREFIX}${encodeURIComponent(cluster)}/`
}

export function ruleOrderKey(name: string): string {
  return RULE_PREFIX + encodeURIComponent(name)
}

/** An empty cluster: all. */
export function pauseKey(cluster: ClusterId): string {
  return PAUSE_PREFIX + cluster
}

/** The key of the record that names the partition of all of a cluster's records. */
export function assignKey(cluster: ClusterId): string {
  return ASSIGN_PREFIX + cluster
}

/** The key of the record of what a cluster is called. */
export function nameKey(cluster: ClusterId): string {
  return NAME_PREFIX + cluster
}

export function protectKey(cluster: ClusterId, subject: string): string {
  return `${PROTECT_PREFIX}${encodeURIComponent(cluster)}/${encodeURIComponent(subject)}`
}

/**
 * The subject that one record protects; undefined when it cannot be understood, and then no reaper
 * may act.
 */
export type Protecting =
  | {
      readonly type: 'policy'
      readonly protection: Protection | null
      /** Null: none is published. */
      readonly mode: Mode | null
    }
  | {
      readonly type: 'subject'
      readonly cluster: ClusterId
      readonly subject: string
      readonly isLifted: boolean
    }

/** Null: the record was taken away. */
export function protectingOf(key: string, record: Control | null): Protecting | undefined {
  const [, cluster = '', subject, more] = key.split('/')
  if (more !== undefined) return undefined
  if (subject === undefined) {
    if (cluster !== POLICY) return undefined
    if (record !== null && record.protection === null) return undefined
    return { type: 'policy', protection: record?.protection ?? null, mode: record?.mode ?? null }
  }
  const isLifted = record === null || record.verb === 'unprotect'
  try {
    return {
      type: 'subject',
      cluster: decodeURIComponent(cluster),
      subject: decodeURIComponent(subject),
      isLifted,
    }
  } catch {
    return undefined
  }
}

/** Of a record under `MARK_BOOK_KEY`. None where it cannot be read: answers lack them. */
export function markKeysIn(codec: Codec, value: Uint8Array | null): MarkKeys {
  try {
    const record = value === null ? null : codec.decode(value)
    return record?.type === 'MarkBook' ? record : NO_MARK_KEYS
  } catch (error) {
    if (error instanceof CodecError) return NO_MARK_KEYS
    throw error
  }
}
