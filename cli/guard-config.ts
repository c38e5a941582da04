/**
 * `holds`, `budgets`, `approvals` and `remember` of the config file: how long what is to go waits, how much may begin to go in ten minutes, how many people
 * have to approve the rest, and how long what has gone is remembered.
 *
 * What must stay true: what is left out is as the preset has it; what cannot be understood ends the start.
 */
import type { Budgets, Holds, Preset } from '../core/policy.ts'
import { policyFor } from '../core/policy.ts'
import { bad, checkKey, duration, type Setting, whole } from './setting.ts'

const KEYS = ['e1', 'e2', 'e3'] as const
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
    e1Ms: of('e1') ?? built.e1Ms,
    e2Ms: of('e2') ?? built.e2Ms,
    e3Ms: of('e3') ?? built.e3Ms,
  }
}

/** In parity there are none but those that are given, and with one of them all. `none` takes them away. */
export function budgetsOf(section: unknown, from: string, preset: Preset): Budgets | null {
  const built = policyFor('dry-run', preset).budgets
  if (section === undefined) return built
  if (section === 'none') return null
  const fields = fieldsOf(section, from, 'numbers, or none')
  const of = (key: (typeof KEYS)[number]): number | undefined =>
    whole({ key, value: fields[key], from: `${from}.${key}` }, 0, MOST)
  const usual = built ?? policyFor('dry-run', 'guarded').budgets
  return {
    e1: of('e1') ?? usual?.e1 ?? 0,
    e2: of('e2') ?? usual?.e2 ?? 0,
    e3: of('e3') ?? usual?.e3 ?? 0,
  }
}

/** Less than a day would be forgotten before a watcher that was away tells of it for the last time. */
export function rememberOf(remember: Setting): number {
  const { rememberMs } = policyFor('dry-run', 'guarded')
  const ms = duration(remember) ?? rememberMs
  if (ms >= LEAST_MEMORY_MS) return ms
  throw bad(`${remember.from}: expected a day or more, such as 1d or 30d`)
}

/** Two are two only where somebody proves who they are. */
export function approvalsOf(approvals: Setting, httpAuth: Setting): number {
  const count = whole(approvals, 1, 2) ?? 1
  if (count === 1 || httpAuth.value !== undefined) return count
  throw bad(
    `${approvals.from}: 2 takes httpAuth (--http-auth): else nobody proves that two people approve`,
  )
}

function fieldsOf(section: unknown, from: string, what: string): Record<string, unknown> {
  if (section === undefined) return {}
  if (typeof section !== 'object' || section === null || Array.isArray(section)) {
    throw bad(`${from}: expected a mapping of ${KEYS.join(', ')} to ${what}`)
  }
  for (const key of Object.keys(section)) checkKey(key, KEYS, from)
  return section as Record<string, unknown>
}
