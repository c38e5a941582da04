/**
 * The users of a test's API server, and their credentials: a file of static tokens, the key pair
 * that signs service-account tokens, and kubeconfig files.
 *
 * The API server reads the tokens once, when it starts: users are known before that. A service
 * account made later gets its token from the API (POST …/serviceaccounts/NAME/token).
 */
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'

export interface TestUser {
  readonly name: string
  /**
   * `system:masters` may do everything; the rights of other groups are in the RBAC objects of the
   * test.
   */
  readonly groups?: readonly string[]
  /** Random unless given. */
  readonly token?: string
}

/** Name to token, in the order given. */
export type Tokens = ReadonlyMap<string, string>

export async function writeTokens(file: string, users: readonly TestUser[]): Promise<Tokens> {
  const tokens = new Map(users.map(({ name, token }) => [name, token ?? randomUUID()]))
  const lines = users.map(
    ({ name, groups = [] }) => `${tokens.get(name)},${name},${name},"${groups.join(',')}"\n`,
  )
  await writeFile(file, lines.join(''), { mode: 0o600 })
  return tokens
}

export interface ServiceAccountKeys {
  readonly privateKeyFile: string
  readonly publicKeyFile: string
}

/** Kept if there already, so tokens signed before stay valid on a reused data folder. */
export async function writeServiceAccountKeys(folder: string): Promise<ServiceAccountKeys> {
  const privateKeyFile = join(folder, 'service-account.key')
  const publicKeyFile = join(folder, 'service-account.pub')
  if (!existsSync(publicKeyFile)) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'sec1', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    })
    await writeFile(privateKeyFile, privateKey, { mode: 0o600 })
    await writeFile(publicKeyFile, publicKey)
  }
  return { privateKeyFile, publicKeyFile }
}

export interface KubeconfigContent {
  /** Name of the context and of its cluster. */
  readonly context: string
  readonly server: string
  readonly ca: string
  readonly user: string
  readonly token: string
}

export async function writeKubeconfig(file: string, content: KubeconfigContent): Promise<void> {
  const { context, server, ca, user, token } = content
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': context,
    clusters: [
      {
        name: context,
        cluster: {
          server,
          'certificate-authority-data': Buffer.from(ca).toString('base64'),
        },
      },
    ],
    users: [{ name: user, user: { token } }],
    contexts: [{ name: context, context: { cluster: context, user } }],
  }
  await writeFile(file, stringify(config), { mode: 0o600 })
}
