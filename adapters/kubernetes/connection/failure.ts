/**
 * Sorts the errors of a socket, a TLS library or undici into the codes of an ExchangeError.
 *
 * What must stay true: `UNREACHABLE` says that nothing was sent. When that is unclear, it is `CUT`.
 */
import { ExchangeError } from '../../../ports/exchange.ts'

/** Codes of OpenSSL's verification and of Node's own check of the name in a certificate. */
const UNTRUSTED =
  /^(CERT_|CRL_|UNABLE_TO_(GET|VERIFY|DECRYPT)|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE)|ERR_TLS_CERT_)/

const TIMEOUTS = ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']

export function failureOf(error: Error, server: string, wasSent: boolean): ExchangeError {
  const [code, reason] = rootOf(error)
  const options = { cause: error }
  if (UNTRUSTED.test(code)) {
    return new ExchangeError(
      'UNTRUSTED',
      `${server} does not prove to be who we expect (${reason}); check certificate-authority in the kubeconfig`,
      options,
    )
  }
  if (TIMEOUTS.includes(code)) {
    return new ExchangeError('TIMEOUT', `${server} did not answer in time (${reason})`, options)
  }
  if (wasSent) {
    return new ExchangeError('CUT', `${server} broke off its answer (${reason})`, options)
  }
  return new ExchangeError(
    'UNREACHABLE',
    `${server} cannot be reached (${reason}); check the server's address and that it runs`,
    options,
  )
}

export function credentialsFailure(error: unknown, context: string): ExchangeError {
  const text = error instanceof Error ? error.message : String(error)
  return new ExchangeError(
    'CREDENTIALS',
    `The credentials of context "${context}" cannot be had (${firstLine(text)}); check its user in the kubeconfig`,
    { cause: error },
  )
}

/** Proxies and address races wrap the original error. */
function rootOf(error: unknown): readonly [code: string, reason: string] {
  let current = error
  // Never deeper than a proxy's error around a connection's around a system's.
  for (let depth = 0; depth < 4; depth++) {
    const inner = innerOf(current)
    if (inner === undefined) break
    current = inner
  }
  if (!(current instanceof Error)) return ['', firstLine(String(current))]
  const code = 'code' in current && typeof current.code === 'string' ? current.code : ''
  return [code, firstLine(current.message || code || current.name)]
}

function innerOf(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0]
  return error instanceof Error && error.cause instanceof Error ? error.cause : undefined
}

/** One line, short: a plugin's stderr may be long. */
function firstLine(text: string): string {
  return (text.trim().split('\n')[0] ?? '').slice(0, 200)
}
