/**
 * Readiness as named checks, in the form that kube-apiserver's endpoints have. What must stay true: not ready is never told as ready, and
 * says why.
 */
export interface Check {
  readonly name: string
  /** Empty when it passes; otherwise why it does not. */
  readonly failure: string
  /** For people, of one that passes. */
  readonly note?: string
}

export function isReady(checks: readonly Check[]): boolean {
  return checks.every((check) => check.failure === '')
}

/** `[+]name ok`, perhaps with a note, and `[-]name failed: why`, a line each. */
export function verbose(checks: readonly Check[]): string {
  const lines = checks.map(({ name, failure, note = '' }) =>
    failure === ''
      ? `[+]${name} ok${note === '' ? '' : `: ${note}`}`
      : `[-]${name} failed: ${failure}`,
  )
  return [...lines, isReady(checks) ? 'readyz check passed' : 'readyz check failed', ''].join('\n')
}
