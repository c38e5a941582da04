/**
 * The checks of `kinfold doctor` that rules and policies of the cluster ask for: the kinds that
 * they are about, and rights beside those of each kind.
 *
 * What must stay true: it changes nothing; each finding names the rule, and what to grant.
 *
 * Not here: get, list, watch, delete and patch of each kind (checkup.ts); what the account of one
 * policy may do, which its condition `Permitted` says.
 */
import type { GroupKind } from '../../core/model/object.ts'
import { besideOf, type Rule } from '../../core/model/rule/rule.ts'
import { isBinding, NAMED_BY_BINDINGS } from '../../core/model/use/binding-use.ts'
import { isSameKind, usersOf } from '../../core/model/use/use.ts'
import type { Cluster, DiscoveredKind, Resource } from '../../ports/cluster.ts'
import { POLICY_GROUP, POLICY_RESOURCES, POLICY_VERSION } from '../../ports/rule/policy-kind.ts'
import { kindText } from '../../ports/rule/rule-kind.ts'
import type { Finding } from './finding.ts'
import { type RightsOf, reaps, verbsOf } from './role-manifest.ts'

export interface RuleChecks {
  /** Of the config. */
  readonly rules: readonly Rule[]
  /** All that the cluster serves. */
  readonly served: readonly DiscoveredKind[]
  readonly watched: readonly DiscoveredKind[]
  readonly service: RightsOf
}

type Limit = () => AbortSignal

export async function checkRules(
  cluster: Cluster,
  checks: RuleChecks,
  limit: Limit,
): Promise<Finding[]> {
  return [
    ...unwatched(cluster.name, checks),
    ...(await checkStatus(cluster, checks, limit)),
    ...(await checkPolicies(cluster, checks, limit)),
  ]
}

function unwatched(cluster: string, { rules, served, watched, service }: RuleChecks): Finding[] {
  if (service === 'reaper') return []
  return rules.flatMap((rule) => {
    const beside = besideOf(rule)
    const about = [...rule.match.kinds, ...(beside === null ? [] : [beside])]
    // What is not served uses nothing.
    const users = usersOf(rule.unused === null ? [] : [rule.unused])
    const findings: readonly (readonly [readonly GroupKind[], string])[] = [
      [about, 'so it decides about none of that'],
      [
        users.filter((each) => isOneOf(each, served)),
        'and may use what the rule is about, so it deletes nothing',
      ],
      [namedIn(rule), 'and may be named by what the rule is about, so none of it is unused'],
    ]
    return findings.flatMap(([kinds, so]): Finding[] => {
      const missing = kinds.filter((each) => !isOneOf(each, watched))
      if (missing.length === 0) return []
      const what = missing.map(kindText).join(', ')
      const text = `${cluster}: rule ${rule.name}: ${what}: not watched, ${so}: add to kinds, or take the rule out`
      return [{ state: 'warning', text }]
    })
  })
}

/** Of bindings it is asked whether what they name is there. */
function namedIn({ match, unused }: Rule): readonly GroupKind[] {
  return unused !== null && match.kinds.some(isBinding) ? NAMED_BY_BINDINGS : []
}

function isOneOf(kind: GroupKind, all: readonly GroupKind[]): boolean {
  return all.some((each) => isSameKind(each, kind))
}

async function checkStatus(
  cluster: Cluster,
  { rules, service }: RuleChecks,
  limit: Limit,
): Promise<Finding[]> {
  const failing = rules.filter(({ failFirst }) => failFirst).map(({ name }) => name)
  if (failing.length === 0 || !reaps(service)) return []
  if (await cluster.mayI('patch', POD_STATUS, limit())) {
    const text = `${cluster.name}: rules may set Pods to Failed before they are deleted`
    return [{ state: 'ok', text }]
  }
  const text = `${cluster.name}: pods/status: may not patch; ${failing.join(', ')} delete no Pod that has not ended: grant what "kinfold rbac --config" prints`
  return [{ state: 'failed', text }]
}

const CORE: Omit<Resource, 'kind' | 'resource'> = { group: '', version: 'v1', scope: 'Namespaced' }
const POD_STATUS: Resource = { ...CORE, kind: 'Pod', resource: 'pods/status' }
const ACCOUNTS: Resource = { ...CORE, kind: 'ServiceAccount', resource: 'serviceaccounts' }

/** Only where their definitions are installed: nothing is amiss without them. */
async function checkPolicies(
  cluster: Cluster,
  { served, service }: RuleChecks,
  limit: Limit,
): Promise<Finding[]> {
  const own = served.filter(({ group, resource }) => {
    return group === POLICY_GROUP && POLICY_RESOURCES.includes(resource)
  })
  if (own.length === 0 || service === 'observe') return []
  const asked = own.flatMap((kind): [string, Resource][] => {
    const of = { ...kind, version: POLICY_VERSION }
    const status = { ...of, resource: `${kind.resource}/status` }
    const read = verbsOf(service).read.map((verb): [string, Resource] => [verb, of])
    return reaps(service) ? [...read, ['patch', status]] : read
  })
  if (reaps(service)) asked.push(['impersonate', ACCOUNTS])
  const denied: string[] = []
  for (const [verb, what] of asked) {
    if (await cluster.mayI(verb, what, limit())) continue
    denied.push(`${verb} ${what.resource}${what.group === '' ? '' : `.${what.group}`}`)
  }
  const text = `${cluster.name}: policies of the cluster`
  if (denied.length === 0) return [{ state: 'ok', text: `${text}: all rights are there` }]
  const hint = 'they are not carried out: grant what "kinfold rbac --cleanup-policies" prints'
  return [{ state: 'warning', text: `${text}: may not ${denied.join(', ')}; ${hint}` }]
}
