/**
 * How the brokers are reached: addresses, encryption, who we are.
 *
 * What must stay true: a password or token never leaves the machine in clear; and beyond loopback,
 * brokers without authentication are used only if the operator says so.
 */
import type { Compression } from './protocol/record-batch.ts'

export interface KafkaSettings {
  /** `host:port`, any of the cluster's. */
  readonly brokers: readonly string[]
  /**
   * The prefix of every topic, transactional id and group of Kinfold; so several Kinfolds may share
   * brokers.
   */
  readonly application: string
  /** PEM texts; `ca` null: the system's authorities. Absent: no TLS. */
  readonly tls?: KafkaTls | undefined
  readonly sasl?: KafkaSasl | undefined
  readonly compression: Compression
  /**
   * Beyond loopback, also without TLS and login: in a network without other users. Never a password
   * or token in clear.
   */
  readonly insecure?: boolean | undefined
}

export interface KafkaTls {
  readonly ca: string | null
  readonly cert: string | null
  readonly key: string | null
}

export type KafkaSasl =
  | {
      readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'
      readonly username: string
      readonly password: string
    }
  /** Asked for a token whenever one is needed. */
  | { readonly mechanism: 'oauthbearer'; readonly token: () => Promise<string> }

/** Why these settings are refused, or undefined. */
export function refusalOf({ brokers, tls, sasl, insecure }: KafkaSettings): string | undefined {
  if (brokers.length === 0) return 'no broker is named: give --brokers HOST:PORT'
  const malformed = brokers.find((broker) => !/^.+:\d{1,5}$/.test(broker))
  if (malformed !== undefined) {
    return `${malformed} is no broker's address: give HOST:PORT, several with commas between`
  }
  if (tls !== undefined) return undefined
  const remote = brokers.find((broker) => !isLoopback(broker))
  if (remote === undefined) return undefined
  if (sasl?.mechanism === 'plain') {
    return `the password for ${remote} would be sent over the network in clear: use TLS, or a SCRAM mechanism`
  }
  if (sasl?.mechanism === 'oauthbearer') {
    return `the token for ${remote} would be sent over the network in clear: use TLS`
  }
  if (sasl === undefined && insecure !== true) {
    return `${remote} would be spoken to without TLS and login, where anybody in the network may read and write: use --tls or --sasl, or say --insecure`
  }
  return undefined
}

/** Of `HOST:PORT`, or a host alone. */
export function isLoopback(address: string): boolean {
  const host = address.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
