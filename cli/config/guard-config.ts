/**
 * `holds`, `budgets`, `approvals`, `remember` and `finalizers` of the config file: how long what is
 * to go waits, how much may begin to go in ten minutes, how many people have to approve the rest,
 * how long what has gone is remembered, and which finalizers an order may remove.
 *
 * What must stay true: what is left out is as the preset has it; what cannot be understood ends the
 * start.
 */
import { isOfCollector } from '../../core/model/object.ts'
import type { Budgets, Holds, Preset } from '../../core/model/policy.ts'
import { policyFor } from '../../core/model/policy.ts'
import { bad, checkKey, duration, type Setting, texts, whole } from './setting.ts'

/** Of each evidence; a letter and a number is what it was called before, and is still taken. */
const KEYS = ['deleted', 'missing', 'not-found'] as const
const FORMER_KEYS = { e1: 'deleted', e2: 'missing', e3: 'not-found' } as const
const MOST = 1_000_000_000
const LEAST_MEMORY_MS = 24 * 3_600_000

export function holdsOf(section: unknown, from: string, preset: Preset): Holds {
  const built = policyFor('dry-run', preset).holds
  const fields = fieldsOf(section, from, 'durations')
  const of = (key: (typeof KEYS)[number]): number | undefined => {
    const value = fields[key]
    // None at all is a choice, too.
    return value === 0 || value === '0s' ? 0 : duration({ key, value, from: `${from}.${key}` })
  }
  return {
    deletedMs: of('deleted') ?? built.deletedMs,
    missingMs: of('missing') ?? built.missingMs,
    notFoundMs: of('not-found') ?? built.notFoundMs,
  }
}

/**
 * In parity there are none but those that are given, and with one of them all. `none` takes them
 * away.
 */
export function budgetsOf(section: unknown, from: string, preset: Preset): Budgets | null {
  const built = policyFor('dry-run', preset).budgets
  if (section === undefined) return built
  if (section === 'none') return null
  const fields = fieldsOf(section, from, 'numbers, or none')
  const of = (key: (typeof KEYS)[number]): number | undefined =>
    whole({ key, value: fields[key], from: `${from}.${key}` }, 0, MOST)
  const usual = built ?? policyFor('dry-run', 'guarded').budgets
  return {
    deleted: of('deleted') ?? usual?.deleted ?? 0,
    missing: of('missing') ?? usual?.missing ?? 0,
    notFound: of('not-found') ?? usual?.notFound ?? 0,
  }
}

/**
 * Less than a day would be forgotten before a watcher that was away tells of it for the last time.
 */
export function rememberOf(remember: Setting): number {
  const { rememberMs } = policyFor('dry-run', 'guarded')
  const ms = duration(remember) ?? rememberMs
  if (ms >= LEAST_MEMORY_MS) return ms
  throw bad(`${remember.from}: expected a day or more, such as 1d or 30d`)
}

/**
 * `finalizers.mayRemove`: of others, those that an order may remove from what is being deleted.
 * Without it none: what a controller wanted to clean up is not cleaned up then.
 */
export function mayRemoveOf(section: unknown, from: string): readonly string[] {
  if (section === undefined) return []
  if (typeof section !== 'object' || section === null || Array.isArray(section)) {
    throw bad(`${from}: expected a mapping with mayRemove, a list of finalizers`)
  }
  for (const key of Object.keys(section)) checkKey(key, ['mayRemove'], from)
  const where = `${from}.mayRemove`
  const { mayRemove: value } = section as Readonly<Record<string, unknown>>
  const names = texts({ key: 'mayRemove', value, from: where })
  if (names.length > MOST_REMOVED) throw bad(`${where}: ${MOST_REMOVED} finalizers are the most`)
  for (const name of names) {
    if (isOfCollector(name)) {
      throw bad(`${where}: ${name} is the collector's, which removes it by itself: leave it out`)
    }
    if (FINALIZER.test(name)) continue
    throw bad(`${where}: ${JSON.stringify(name)} is no finalizer, such as example.com/cleanup`)
  }
  return [...new Set(names)]
}

const MOST_REMOVED = 100
/** As an API server takes it: a name of 63 characters, below a domain of 253. */
const FINALIZER = /^([a-z0-9.-]{1,253}\/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/

/** Two approvals are of two people only where each proves who they are. */
export function approvalsOf(approvals: Setting, httpAuth: Setting): number {
  const count = whole(approvals, 1, 2) ?? 1
  if (count === 1 || httpAuth.value !== undefined) return count
  throw bad(
    `${approvals.from}: 2 takes httpAuth (--http-auth): else it is not proven that two people approve`,
  )
}

function fieldsOf(section: unknown, from: string, what: string): Record<string, unknown> {
  if (section === undefined) return {}
  if (typeof section !== 'object' || section === null || Array.isArray(section)) {
    throw bad(`${from}: expected a mapping of ${KEYS.join(', ')} to ${what}`)
  }
  const fields: Record<string, unknown> = {}
  for (const [given, value] of Object.entries(section)) {
    const key = todaysKey(given)
    checkKey(key, KEYS, from)
    if (key in fields) throw bad(`${from}: ${key} is given twice (${given} is its former name)`)
    fields[key] = value
  }
  return fields
}

/** `e1` and `E1` for `deleted`, and so on. */
function todaysKey(given: string): string {
  const former = given.toLowerCase()
  return former in FORMER_KEYS ? FORMER_KEYS[former as keyof typeof FORMER_KEYS] : given
}
