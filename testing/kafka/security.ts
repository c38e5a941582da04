/**
 * The access to a test's brokers: TLS with an authority of the test's own, and any of Kafka's ways
 * to log in. It applies to the listener of clients (CLIENT) and to no other.
 *
 * What must stay true: where ACLs apply, no user is anonymous there, since the anonymous users are
 * the brokers themselves and the fixture, which may do everything.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { KafkaConfig } from 'kafkajs'
import { type Authority, type Certificate, issue, makeAuthority } from './certificates.ts'
import type { Properties } from './server-properties.ts'

export interface SecurityOptions {
  readonly tls?: boolean
  /** Names of users; each has a password of its own, a client certificate under TLS, and tokens. */
  readonly users?: readonly string[]
  /** Of users whose password is not to be one of chance. */
  readonly passwords?: Readonly<Record<string, string>>
  /** Those that brokers take; `certificate` is the only one then, and needs TLS. */
  readonly logins?: readonly Login[]
  /** A user without a right is refused (see acl.ts); without, all may do everything. */
  readonly acls?: boolean
}

export type Login = 'scram-sha-512' | 'plain' | 'oauthbearer' | 'certificate'

const MECHANISMS = ['scram-sha-512', 'plain', 'oauthbearer'] as const
const TOKEN_LIFE_S = 3600

/** Made by `makeSecurity` only. */
export class Security {
  readonly options: SecurityOptions
  readonly #authority: Authority | undefined
  readonly #ca: string | undefined
  readonly #passwords: ReadonlyMap<string, string>
  readonly #certificates: ReadonlyMap<string, Certificate>

  constructor(
    options: SecurityOptions,
    authority: Authority | undefined,
    ca: string | undefined,
    certificates: ReadonlyMap<string, Certificate>,
  ) {
    this.options = options
    this.#authority = authority
    this.#ca = ca
    this.#certificates = certificates
    this.#passwords = new Map(
      (options.users ?? []).map((user) => [user, options.passwords?.[user] ?? randomUUID()]),
    )
  }

  /** PEM; the authority that clients must trust. */
  get caFile(): string {
    if (this.#authority === undefined) throw new Error('without `tls: true` there is no authority')
    return this.#authority.certificateFile
  }

  passwordOf(user: string): string {
    return found(this.#passwords, user)
  }

  certificateOf(user: string): Certificate {
    return found(this.#certificates, user)
  }

  /** Unsigned, which these brokers take and no others should: it shows the way, not the proof. */
  tokenOf(user: string, lifeS: number = TOKEN_LIFE_S): string {
    const now = Math.floor(Date.now() / 1000)
    const claims = { sub: user, iat: now - Math.max(0, -lifeS) - 1, exp: now + lifeS }
    return [{ alg: 'none' }, claims].map((part) => `${base64url(part)}.`).join('')
  }

  /** The options of kafkajs to trust the brokers, without a login. */
  trust(): Pick<KafkaConfig, 'ssl'> {
    return this.#ca === undefined ? {} : { ssl: { ca: [this.#ca] } }
  }

  /** The options of kafkajs to be this user; by default with the first of the logins. */
  async login(user: string, login?: Login): Promise<Pick<KafkaConfig, 'ssl' | 'sasl'>> {
    const trust = this.trust()
    const username = user
    const mechanism = login ?? this.options.logins?.[0]
    switch (mechanism) {
      case undefined:
        return trust
      case 'certificate': {
        const { certificateFile, keyFile } = this.certificateOf(user)
        const [cert, key] = await Promise.all([readFile(certificateFile), readFile(keyFile)])
        return { ssl: { ca: [this.#ca!], cert, key } }
      }
      case 'oauthbearer': {
        const oauthBearerProvider = async () => ({ value: this.tokenOf(user) })
        return { ...trust, sasl: { mechanism, oauthBearerProvider } }
      }
      case 'plain':
        return { ...trust, sasl: { mechanism, username, password: this.passwordOf(user) } }
      case 'scram-sha-512':
        return { ...trust, sasl: { mechanism, username, password: this.passwordOf(user) } }
    }
  }

  /** Arguments of Kafka's formatting, which alone can make these users before a broker runs. */
  get scramArguments(): string[] {
    if (!this.options.logins?.includes('scram-sha-512')) return []
    return [...this.#passwords].flatMap(([user, password]) => [
      '--add-scram',
      `SCRAM-SHA-512=[name=${user},password=${password}]`,
    ])
  }

  get properties(): Properties {
    const { tls = false, logins = [], acls = false } = this.options
    const mechanisms = MECHANISMS.filter((each) => logins.includes(each))
    const protocol = `${mechanisms.length > 0 ? 'SASL_' : ''}${tls ? 'SSL' : 'PLAINTEXT'}`
    return {
      'listener.security.protocol.map': `CLIENT:${protocol},INSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT`,
      ...(tls && this.#tlsProperties(logins.includes('certificate'))),
      ...(mechanisms.length > 0 && this.#saslProperties(mechanisms)),
      ...(acls && {
        'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
        'allow.everyone.if.no.acl.found': false,
        'super.users': 'User:ANONYMOUS',
      }),
    }
  }

  #tlsProperties(certificates: boolean): Properties {
    return {
      'listener.name.client.ssl.keystore.type': 'PEM',
      'listener.name.client.ssl.keystore.location': brokerStoreIn(this.#authority!.folder),
      'listener.name.client.ssl.truststore.type': 'PEM',
      'listener.name.client.ssl.truststore.location': this.caFile,
      ...(certificates && {
        'listener.name.client.ssl.client.auth': 'required',
        'listener.name.client.ssl.principal.mapping.rules': 'RULE:^CN=([^,]+).*$/$1/,DEFAULT',
      }),
    }
  }

  #saslProperties(mechanisms: readonly (typeof MECHANISMS)[number][]): Properties {
    const known = [...this.#passwords].map(([user, password]) => `user_${user}="${password}"`)
    const modules = {
      'scram-sha-512': 'scram.ScramLoginModule required',
      plain: `plain.PlainLoginModule required ${known.join(' ')}`,
      oauthbearer: 'oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="no"',
    }
    return {
      'listener.name.client.sasl.enabled.mechanisms': mechanisms.join(',').toUpperCase(),
      ...Object.fromEntries(
        mechanisms.map((mechanism) => [
          `listener.name.client.${mechanism}.sasl.jaas.config`,
          `org.apache.kafka.common.security.${modules[mechanism]};`,
        ]),
      ),
    }
  }
}

/** Keeps keys and certificates in `folder`. */
export async function makeSecurity(folder: string, options: SecurityOptions): Promise<Security> {
  const { tls = false, users = [], logins = [], acls = false } = options
  if (acls && logins.length === 0) throw new Error('ACLs need `logins`: without, all are anonymous')
  if (logins.includes('certificate') && (!tls || logins.length > 1))
    throw new Error('a login by certificate needs `tls: true`, and no other login beside it')
  if (!tls) return new Security(options, undefined, undefined, new Map())
  await mkdir(folder, { recursive: true })
  const authority = await makeAuthority(folder, 'test-authority')
  const broker = await issue(authority, 'test-broker', 'broker')
  const parts = [broker.keyFile, broker.certificateFile].map((file) => readFile(file, 'utf8'))
  await writeFile(brokerStoreIn(folder), (await Promise.all(parts)).join(''))
  const certificates = new Map<string, Certificate>()
  for (const user of users) certificates.set(user, await issue(authority, user, 'client'))
  const ca = await readFile(authority.certificateFile, 'utf8')
  return new Security(options, authority, ca, certificates)
}

function brokerStoreIn(folder: string): string {
  return join(folder, 'test-broker.pem')
}

function found<T>(map: ReadonlyMap<string, T>, user: string): T {
  const value = map.get(user)
  if (value === undefined) throw new Error(`no user ${user}: users are given at the start`)
  return value
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
