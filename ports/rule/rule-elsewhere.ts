/**
 * Owners in other clusters, as users write them: what a rule imports (`elsewhere`), and in the
 * section `across` of the config file what clusters export, and by which names clusters are called.
 *
 * What must stay true: a cluster is a uid once this is read, so a name that means another cluster
 * later makes another rule. Kinds and namespaces are named on both sides: none means no owner, and
 * nothing means all.
 *
 * Not here: what a rule makes of that (core/judge/elsewhere.ts).
 */
import { LEAST_ELSEWHERE_MS } from '../../core/judge/rule.ts'
import type { OwnerExport, RuleElsewhere } from '../../core/model/rule/elsewhere.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { kindsIn } from './rule-kind.ts'
import { namespacesOf } from './rule-match.ts'
import { type Mapping, mapping } from './rule-term.ts'
import { bad, show, texts } from './setting.ts'

export interface AcrossSettings {
  /** Uids of clusters by the names that a config file calls them. */
  readonly aliases: ReadonlyMap<string, string>
  readonly exports: readonly ClusterExport[]
}

export interface ClusterExport extends OwnerExport {
  /** Whose owners these are. */
  readonly cluster: string
}

export const NO_ACROSS: AcrossSettings = { aliases: new Map(), exports: [] }

const UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const ALIAS = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/
const MOST_EXPORTS = 100
const MOST_ALIASES = 1_000

/** `aliases` and `exports` of the section. */
export function acrossOf({ aliases, exports }: Mapping, from: string): AcrossSettings {
  const named = aliasesOf(aliases, `${from}.aliases`)
  return { aliases: named, exports: exportsOf(exports, `${from}.exports`, named) }
}

function aliasesOf(value: unknown, from: string): ReadonlyMap<string, string> {
  if (value === undefined) return new Map()
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw bad(`${from}: expected a mapping of names to uids of clusters`)
  }
  const all = Object.entries(value)
  if (all.length > MOST_ALIASES) {
    throw bad(`${from}: ${all.length} names, and ${MOST_ALIASES} are the most`)
  }
  return new Map(all.map(([name, uid]) => [aliasOf(name, from), uidOf(uid, `${from}.${name}`)]))
}

function aliasOf(name: string, from: string): string {
  if (ALIAS.test(name) && !UID.test(name)) return name
  throw bad(`${from}: ${show(name).slice(0, 200)} is no name for a cluster, such as north`)
}

function uidOf(value: unknown, from: string): string {
  if (typeof value === 'string' && UID.test(value)) return value
  throw bad(`${from}: ${show(value).slice(0, 200)} is not the uid of a namespace kube-system`)
}

function exportsOf(
  value: unknown,
  from: string,
  aliases: AcrossSettings['aliases'],
): readonly ClusterExport[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw bad(`${from}: expected a list of exports`)
  if (value.length > MOST_EXPORTS) {
    throw bad(`${from}: ${value.length} exports, and ${MOST_EXPORTS} are the most`)
  }
  return value.map((each, index) => exportOf(each, `${from}[${index}]`, aliases))
}

function exportOf(value: unknown, from: string, aliases: AcrossSettings['aliases']): ClusterExport {
  const fields = mapping(value, ['cluster', 'kinds', 'namespaces', 'to'], from)
  const cluster = clusterOf(fields['cluster'], `${from}.cluster`, aliases)
  const named = texts({ key: 'to', value: fields['to'], from: `${from}.to` })
  if (named.length === 0) throw bad(`${from}.to: is missing: clusters whose objects may name them`)
  const to = named.map((each) => clusterOf(each, `${from}.to`, aliases))
  if (to.includes(cluster)) {
    throw bad(`${from}.to: a cluster exports nothing to itself; owners there are owner references`)
  }
  return { cluster, ...ownersOf(fields, from), to: [...new Set(to)] }
}

function clusterOf(value: unknown, from: string, aliases: AcrossSettings['aliases']): string {
  if (typeof value === 'string') {
    const uid = UID.test(value) ? value : aliases.get(value)
    if (uid !== undefined) return uid
  }
  throw bad(
    `${from}: ${show(value).slice(0, 200)} is neither the uid of a namespace kube-system nor a name in across.aliases`,
  )
}

/** Named one by one, or by patterns that leave some out. */
function ownersOf(fields: Mapping, from: string): Pick<OwnerExport, 'kinds' | 'namespaces'> {
  const kinds = kindsIn(fields['kinds'], `${from}.kinds`)
  const namespaces = namespacesOf(fields, 'namespaces', from)
  if (namespaces.length === 0) throw bad(`${from}.namespaces: is missing: name those of owners`)
  if (namespaces.some(isAll)) {
    throw bad(`${from}.namespaces: * would be all; name them, or take a pattern such as team-*`)
  }
  return { kinds, namespaces }
}

function isAll(pattern: string): boolean {
  return /^\*+$/.test(pattern)
}

/** Of a rule of the config file; null where it does not ask. */
export function elsewhereOf(
  value: unknown,
  from: string,
  { aliases, exports }: AcrossSettings,
): RuleElsewhere | null {
  if (value === undefined) return null
  const fields = mapping(value, ['cluster', 'kinds', 'namespaces'], from)
  const cluster = clusterOf(fields['cluster'], `${from}.cluster`, aliases)
  const own = exports.filter((each) => each.cluster === cluster)
  return {
    cluster,
    ...ownersOf(fields, from),
    exports: own.map(({ kinds, namespaces, to }) => ({ kinds, namespaces, to })),
  }
}

/** `hasWait`: it says for how long; else it is the least. */
export function checkElsewhere(rule: Rule, hasWait: boolean, from: string): Rule {
  const { elsewhere, match, keep, absent, beside, unused, propagationPolicy, forMs } = rule
  if (elsewhere === null) return rule
  if ([keep, absent, beside, unused].some((each) => each !== null) || match.terminating) {
    throw bad(
      `${from}: elsewhere takes no keep, absent, beside, unused or match.terminating beside it`,
    )
  }
  if (match.namespaces.length === 0 || match.namespaces.some(isAll)) {
    throw bad(
      `${from}.match.namespaces: is missing, or all: name those whose objects may have owners in another cluster`,
    )
  }
  if (propagationPolicy === 'Foreground') {
    throw bad(`${from}.propagationPolicy: elsewhere takes Background or Orphan`)
  }
  if (hasWait && forMs < LEAST_ELSEWHERE_MS) {
    throw bad(`${from}.for: an owner in another cluster takes 1h at least`)
  }
  return { ...rule, forMs: Math.max(forMs, LEAST_ELSEWHERE_MS) }
}
