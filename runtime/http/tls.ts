/**
 * TLS of the endpoint, by a certificate and a key in files, and which authorities are trusted
 * besides the usual ones.
 *
 * What must stay true: a key that other users may read is refused, and so are a certificate and a
 * key that do not belong together. Files that change are read again; while they cannot be used,
 * what was read before serves on, and it is said.
 */
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:https'
import type { Clock } from '../../ports/clock.ts'
import { checkSecret } from '../file-access.ts'
import { EXIT, ExitError } from '../lifecycle.ts'

export interface TlsFiles {
  /** PEM: the certificate, and those that lead from it to an authority. */
  readonly certFile: string
  /** PEM. */
  readonly keyFile: string
}

/** Of a configuration. */
export interface TlsSettings {
  readonly httpTls: TlsFiles | undefined
  readonly httpTlsCaFile: string | undefined
}

/**
 * What the endpoint serves with, undefined without a certificate; and from now on those are trusted
 * that are to be.
 */
export function openTlsOf({ httpTls, httpTlsCaFile }: TlsSettings): Tls | undefined {
  if (httpTlsCaFile !== undefined) trustAlso(httpTlsCaFile)
  return httpTls && openTls(httpTls)
}

/** In PEM. */
export interface TlsPair {
  readonly cert: string
  readonly key: string
}

export interface Tls {
  readonly pair: TlsPair
  /** What is wrong with what it serves; empty when nothing is. */
  failure(): string
  /** Serves what the files have by then, until the signal aborts. */
  renew(server: Pick<Server, 'setSecureContext'>, clock: Clock, signal: AbortSignal): Promise<void>
}

/** Secrets in Kubernetes are exchanged in two steps, and a minute later than they are written. */
const LOOK_EVERY_MS = 10_000

/**
 * Throws `ExitError` for files that cannot be read or do not belong together, and a key that others
 * may read.
 */
export function openTls(files: TlsFiles): Tls {
  let pair = readPair(files)
  let failure = ''
  return {
    pair,
    failure: () => failure || expiryOf(pair),
    async renew(server, clock, signal) {
      while (!signal.aborted) {
        await clock.sleep(LOOK_EVERY_MS, signal)
        try {
          const found = readPair(files)
          failure = ''
          if (found.cert === pair.cert && found.key === pair.key) continue
          server.setSecureContext(found)
          pair = found
        } catch (error) {
          failure = error instanceof Error ? error.message : String(error)
        }
      }
    },
  }
}

/**
 * Connections of this process trust it, too, beside the usual authorities. Throws `ExitError` for a
 * file that has no certificate.
 */
export function trustAlso(file: string): void {
  const pem = read(file, 'the file of authorities')
  certificateIn(pem, file)
  const { getCACertificates, setDefaultCACertificates } = tlsModule()
  setDefaultCACertificates([...getCACertificates('default'), pem])
}

/** Loaded where it is needed: most commands ask over plain HTTP, and are to start quickly. */
function tlsModule(): typeof import('node:tls') {
  return process.getBuiltinModule('node:tls')
}

function readPair({ certFile, keyFile }: TlsFiles): TlsPair {
  const cert = read(certFile, 'the certificate')
  const key = read(keyFile, 'the key')
  checkSecret(keyFile, 'the key')
  certificateIn(cert, certFile)
  try {
    tlsModule().createSecureContext({ cert, key })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ExitError(
      EXIT.input,
      `the certificate ${certFile} and the key ${keyFile} cannot be used together: ${why}`,
    )
  }
  return { cert, key }
}

function read(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ExitError(EXIT.input, `${what} ${file} cannot be read: ${why}`)
  }
}

/** The first of them. */
function certificateIn(pem: string, file: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch {
    throw new ExitError(
      EXIT.input,
      `${file} holds no certificate in PEM ("-----BEGIN CERTIFICATE-----" and so on)`,
    )
  }
}

function expiryOf({ cert }: TlsPair): string {
  const { validToDate } = new X509Certificate(cert)
  return validToDate.getTime() > Date.now()
    ? ''
    : `the certificate expired at ${validToDate.toISOString()}`
}
