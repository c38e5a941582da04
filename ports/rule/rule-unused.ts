/**
 * What a rule says of use: for how long nothing has used an object (`unused`), and which kinds
 * beside those of the table may use it.
 *
 * What must stay true: a rule asks only about kinds whose users the table has; what a user adds
 * makes fewer objects unused, never more. The rows are part of the rule, so a log is replayed by
 * those of its time.
 *
 * Not here: the table (core/model/use/use-table.ts).
 */
import type { GroupKind } from '../../core/model/object.ts'
import { POD_USES } from '../../core/model/use/pod-use.ts'
import { isSameKind, nameOf, type RuleUnused, type Use } from '../../core/model/use/use.ts'
import { USE_EXCEPTIONS } from '../../core/model/use/use-exception.ts'
import { readUsePath } from '../../core/model/use/use-path.ts'
import { KNOWN_KINDS, USE_TABLE, usesAbout } from '../../core/model/use/use-table.ts'
import { waitMs } from './rule-case.ts'
import { kindIn } from './rule-kind.ts'
import { type Mapping, mapping } from './rule-term.ts'
import { bad, texts } from './setting.ts'

/** Longer than a silence from before the rule holds it (SILENCE_CLEARED_MS). */
const LEAST_MS = 15 * 60_000
const MOST_ROWS = 50
const MOST_PATHS = 50

export function unusedOf(
  value: unknown,
  kinds: readonly GroupKind[],
  from: string,
): RuleUnused | null {
  if (value === undefined) return null
  const { for: wait, uses = [] } = mapping(value, ['for', 'uses'], from)
  const wrong = kinds.find((kind) => !isKnown(kind))
  if (wrong !== undefined) {
    const known = `that is known of ${KNOWN.join(', ')}`
    throw bad(
      `${from}: what uses a ${nameOf(wrong)} is not known; ${known}: leave it out of match.kinds`,
    )
  }
  if (wait === undefined)
    throw bad(`${from}.for: is missing: for how long nothing has used it, such as 30d`)
  const forMs = waitMs(wait, `${from}.for`)
  if (forMs < LEAST_MS) throw bad(`${from}.for: expected a duration of 15m at least, such as 30d`)
  if (!Array.isArray(uses) || uses.length > MOST_ROWS) {
    throw bad(`${from}.uses: expected a list of ${MOST_ROWS} mappings at most`)
  }
  const own = uses.flatMap((each, index) => rowsOf(each, `${from}.uses[${index}]`))
  const isAsked = (kind: GroupKind): boolean => kinds.some((each) => isSameKind(each, kind))
  return { forMs, uses: usesAbout(kinds, own), except: USE_EXCEPTIONS.filter(isAsked) }
}

/** Of a built-in rule the time can be another, and users can be added. */
export function narrowedUnused(own: unknown, value: unknown, from: string): unknown {
  if (value === undefined) return own
  if (own === undefined) throw bad(`${from}: is of builtin: unused alone; leave it out`)
  return { ...(own as Mapping), ...mapping(value, ['for', 'uses'], from) }
}

const USED: readonly GroupKind[] = [
  ...new Map(USE_TABLE.map(({ used }) => [nameOf(used), used])).values(),
]
const KNOWN = KNOWN_KINDS.map(nameOf)

function isKnown(kind: GroupKind): boolean {
  return KNOWN_KINDS.some((each) => isSameKind(each, kind))
}

function isUsed(kind: GroupKind): boolean {
  return USED.some((each) => isSameKind(each, kind))
}

/** By its paths; by where the specification of a Pod is; or an object of it may use any. */
function rowsOf(value: unknown, from: string): readonly Use[] {
  const fields = mapping(value, ['kind', 'podSpec', 'used', 'paths'], from)
  const user = kindOf(fields['kind'], `${from}.kind`)
  const { podSpec, used, paths } = fields
  if (podSpec === undefined) return ownRows(fields, user, from)
  if (used !== undefined || paths !== undefined) {
    throw bad(
      `${from}: podSpec takes no used and paths beside it: write them as an entry of its own`,
    )
  }
  if (typeof podSpec !== 'string' || readUsePath(`${podSpec}.x`) === undefined) {
    throw bad(`${from}.podSpec: expected a path such as spec.template.spec`)
  }
  const users = [{ ...user, at: podSpec }]
  return POD_USES.map((each) => ({ ...each, users }))
}

function ownRows({ used, paths }: Mapping, user: GroupKind, from: string): readonly Use[] {
  const users = [{ ...user, at: '' }]
  if (used === undefined && paths === undefined) {
    return USED.map((each) => ({ used: each, users, paths: [] }))
  }
  const kind = kindOf(used, `${from}.used`)
  if (!isUsed(kind)) throw bad(`${from}.used: is none of ${USED.map(nameOf).join(', ')}`)
  const all = texts({ key: 'paths', value: paths, from: `${from}.paths` })
  if (all.length === 0 || all.length > MOST_PATHS) {
    throw bad(`${from}.paths: expected 1 to ${MOST_PATHS} paths such as spec.secretRef.name`)
  }
  const wrong = all.find((path) => readUsePath(path) === undefined)
  if (wrong === undefined) return [{ used: kind, users, paths: all }]
  throw bad(`${from}.paths: ${JSON.stringify(wrong.slice(0, 200))} is no path to a name`)
}

function kindOf(value: unknown, from: string): GroupKind {
  if (typeof value === 'string') return kindIn(value, from)
  throw bad(`${from}: expected a kind such as Rollout.argoproj.io`)
}
