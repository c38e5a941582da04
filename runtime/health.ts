/**
 * Readiness as named checks, in the form that kube-apiserver's endpoints have.
 *
 * What must stay true: not ready is never reported as ready, and says why. What is absent, or
 * cannot be carried out, is never `ok`: where it makes the process unready it has failed, otherwise
 * it is a warning.
 */

/** What checks are about; each is a constant, and is shown to every client that may ask at all. */
export const SORTS = [
  'archive',
  'audit-token',
  'blocked',
  'clock',
  'cluster',
  'data',
  'data-copy',
  'denied',
  'disk',
  'group',
  'http-metrics-token',
  'http-tls',
  'http-token',
  'lock',
  'log',
  'notify',
  'standby',
  'synced',
  'task',
  'tasks',
  'unwatched',
] as const

/** Behind the slash: of a cluster, a kind or the like, for those who may see all. */
export type CheckName = `${(typeof SORTS)[number]}${'' | `/${string}`}`

export type Check =
  | { readonly name: CheckName; readonly state: 'ok'; readonly note?: string }
  /** An operator should see to it; the process is ready all the same. */
  | { readonly name: CheckName; readonly state: 'warning'; readonly reason: string }
  | { readonly name: CheckName; readonly state: 'failed'; readonly reason: string }

/** `note`: for people. */
export function passed(name: CheckName, note = ''): Check {
  return note === '' ? { name, state: 'ok' } : { name, state: 'ok', note }
}

export function warned(name: CheckName, reason: string): Check {
  return { name, state: 'warning', reason }
}

export function failed(name: CheckName, reason: string): Check {
  return { name, state: 'failed', reason }
}

export function isReady(checks: readonly Check[]): boolean {
  return checks.every(({ state }) => state !== 'failed')
}

/**
 * `[+]name ok`, perhaps with a note, `[!]name warning: why` and `[-]name failed: why`, a line each.
 */
export function verbose(checks: readonly Check[]): string {
  const end = isReady(checks) ? 'readyz check passed' : 'readyz check failed'
  return [...checks.map(lineOf), end, ''].join('\n')
}

/**
 * How many of each sort are in which state: the sort is what a name begins with (`SORTS`), and
 * names nothing of a cluster.
 */
export function counted(checks: readonly Check[]): string {
  const sorts = Map.groupBy(checks, ({ name, state }) => `${name.split('/')[0]} ${state}`)
  const marks = { ok: '+', warning: '!', failed: '-' } as const
  const lines = [...sorts].map(
    ([sort, its]) => `[${marks[its[0]?.state ?? 'failed']}]${sort}: ${its.length}`,
  )
  const end = isReady(checks) ? 'readyz check passed' : 'readyz check failed'
  return [...lines, end, ''].join('\n')
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
