/**
 * Certificates for a test's brokers and their clients, from an authority made for that test alone.
 *
 * A broker's is for 127.0.0.1 and for no name: a client that connects to `localhost` must be
 * refused. Node's own crypto cannot sign certificates, so openssl does (3.0 or newer).
 */
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface Certificate {
  /** PEM, as are the keys (PKCS #8). */
  readonly certificateFile: string
  readonly keyFile: string
}

/** Signs certificates; its own certificate is the one that others trust. */
export interface Authority extends Certificate {
  readonly folder: string
}

const CONFIG = `
[req]
distinguished_name = name
prompt = no
[name]
CN = unused
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[broker]
basicConstraints = critical, CA:FALSE
subjectAltName = IP:127.0.0.1
extendedKeyUsage = serverAuth
[client]
basicConstraints = critical, CA:FALSE
extendedKeyUsage = clientAuth
`

/** Keeps its files in `folder`, which is there already. */
export async function makeAuthority(folder: string, name: string): Promise<Authority> {
  await writeFile(join(folder, 'openssl.cnf'), CONFIG)
  return { folder, ...(await make(folder, name, ['-extensions', 'authority'])) }
}

/** `name` becomes the common name, and the file's. */
export async function issue(
  authority: Authority,
  name: string,
  use: 'broker' | 'client',
): Promise<Certificate> {
  const signer = ['-CA', authority.certificateFile, '-CAkey', authority.keyFile]
  return await make(authority.folder, name, ['-extensions', use, ...signer])
}

async function make(folder: string, name: string, args: readonly string[]): Promise<Certificate> {
  const certificateFile = join(folder, `${name}.crt`)
  const keyFile = join(folder, `${name}.key`)
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc']
  const output = ['-keyout', keyFile, '-out', certificateFile]
  const config = ['-config', join(folder, 'openssl.cnf'), '-days', '2', '-subj', `/CN=${name}`]
  const all = ['req', '-x509', ...config, ...key, ...args, ...output]
  await promisify(execFile)('openssl', all)
  return { certificateFile, keyFile }
}
