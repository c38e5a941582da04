/**
 * Counts of the last ten minutes of log time, by minute and namespace.
 *
 * What must stay true: bounded, however many names tenants use: namespaces beyond a cap are counted
 * together, never left out.
 *
 * Not here: what is counted (budget.ts, burst.ts).
 */
import { NAMESPACES_COUNTED } from '../model/constant.ts'
import type { MinuteCounts, NamespaceCount } from '../model/state.ts'

const MINUTE_MS = 60_000

/** No namespace has that name. */
const ALL_OTHERS = '*'

export function minuteOf(timeMs: number): number {
  return Math.floor(timeMs / MINUTE_MS)
}

/**
 * With one more in the minute of `now`, and without minutes older than `span`. Log time never
 * decreases, so an earlier record counts as of the newest minute.
 */
export function withOne(
  minutes: readonly MinuteCounts[],
  now: number,
  span: number,
  namespace: string,
): readonly MinuteCounts[] {
  const last = minutes.at(-1)?.minute ?? 0
  const minute = Math.max(last, minuteOf(now))
  const kept = since(minutes, minute - span + 1)
  const current = kept.at(-1)?.minute === minute ? kept.at(-1) : undefined
  const namespaces = counted(current?.namespaces ?? [], namespace)
  return [...kept.filter((each) => each !== current), { minute, namespaces }]
}

export function since(minutes: readonly MinuteCounts[], minute: number): readonly MinuteCounts[] {
  return minutes.filter((each) => each.minute >= minute)
}

function counted(all: readonly NamespaceCount[], namespace: string): readonly NamespaceCount[] {
  const isKnown = all.some((each) => each.namespace === namespace)
  const name = isKnown || all.length < NAMESPACES_COUNTED ? namespace : ALL_OTHERS
  const former = all.find((each) => each.namespace === name)
  const count = (former?.count ?? 0) + 1
  return [...all.filter((each) => each !== former), { namespace: name, count }]
}

export function byNamespace(minutes: readonly MinuteCounts[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const { namespaces } of minutes) {
    for (const { namespace, count } of namespaces) {
      sums.set(namespace, (sums.get(namespace) ?? 0) + count)
    }
  }
  return sums
}

/**
 * The most that one namespace may have: in minutes in which it is not counted apart it may be
 * everything that is counted together.
 */
export function mostOf(minutes: readonly MinuteCounts[], namespace: string): number {
  const countIn = (all: readonly NamespaceCount[], name: string): number | undefined =>
    all.find((each) => each.namespace === name)?.count
  return minutes.reduce(
    (sum, { namespaces }) =>
      sum + (countIn(namespaces, namespace) ?? countIn(namespaces, ALL_OTHERS) ?? 0),
    0,
  )
}

/**
 * All of them together, where each counts as at most so many. Objects without a namespace belong to
 * no tenant, and those counted together belong to many: they count as they are.
 */
export function sumOf(
  counts: ReadonlyMap<string, number>,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  let sum = 0
  for (const [namespace, count] of counts) {
    sum += isTenant(namespace) ? Math.min(count, most) : count
  }
  return sum
}

/** A namespace that is counted apart. */
export function isTenant(namespace: string): boolean {
  return namespace !== '' && namespace !== ALL_OTHERS
}
