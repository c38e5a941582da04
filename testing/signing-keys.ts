/** Ed25519 keys as openssl writes them: the private one for its owner alone. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface KeyFiles {
  readonly key: string
  readonly pub: string
}

export function makeKeys(directory: string, name = 'key'): KeyFiles {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const files = { key: join(directory, `${name}.pem`), pub: join(directory, `${name}.pub`) }
  writeFileSync(files.key, privateKey, { mode: 0o600 })
  writeFileSync(files.pub, publicKey)
  return files
}
