/**
 * Readiness as named checks, in the form that kube-apiserver's endpoints have.
 *
 * What must stay true: not ready is never reported as ready, and says why. What is absent, or cannot be carried out, is never `ok`: where it
 * makes the process unready it has failed, otherwise it is a warning.
 */
export type Check =
  | { readonly name: string; readonly state: 'ok'; readonly note?: string }
  /** Somebody should see to it; the process is ready all the same. */
  | { readonly name: string; readonly state: 'warning'; readonly reason: string }
  | { readonly name: string; readonly state: 'failed'; readonly reason: string }

/** `note`: for people. */
export function passed(name: string, note = ''): Check {
  return note === '' ? { name, state: 'ok' } : { name, state: 'ok', note }
}

export function warned(name: string, reason: string): Check {
  return { name, state: 'warning', reason }
}

export function failed(name: string, reason: string): Check {
  return { name, state: 'failed', reason }
}

export function isReady(checks: readonly Check[]): boolean {
  return checks.every(({ state }) => state !== 'failed')
}

/** `[+]name ok`, perhaps with a note, `[!]name warning: why` and `[-]name failed: why`, a line each. */
export function verbose(checks: readonly Check[]): string {
  const end = isReady(checks) ? 'readyz check passed' : 'readyz check failed'
  return [...checks.map(lineOf), end, ''].join('\n')
}

function lineOf(check: Check): string {
  switch (check.state) {
    case 'ok':
      return `[+]${check.name} ok${check.note === undefined ? '' : `: ${check.note}`}`
    case 'warning':
      return `[!]${check.name} warning: ${check.reason}`
    case 'failed':
      return `[-]${check.name} failed: ${check.reason}`
  }
}
