/**
 * A CleanupPolicy or ClusterCleanupPolicy of a cluster, read: the rule that it is, or why it is
 * none.
 *
 * What must stay true: whatever a user wrote, this ends with a rule or with a sentence, and by the
 * code that reads rules of a config file. A CleanupPolicy is about objects of its own namespace
 * alone, and never without an account that deletes them. The account is a name that a header may
 * have. What comes out is within the caps, as it is on the log.
 *
 * Not here: how many there may be (core/observe), whether it is enforced (an annotation), what the
 * account may do (the API server decides).
 */
import { CLUSTER_POLICY_KIND, type PolicyContent } from '../../core/model/rule/policy-content.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { CompileExpression } from '../expression.ts'
import { cappedPolicy } from '../record/cap.ts'
import { BUILTINS } from './builtin.ts'
import { CASE_KEYS } from './rule-case.ts'
import {
  BUILTIN_KEYS,
  besideSystem,
  builtinFields,
  checkPaths,
  nameOf,
  RULE_KEYS,
  ruleOf,
} from './rule-config.ts'
import { type Mapping, mapping } from './rule-term.ts'
import { bad, SettingError, show, text } from './setting.ts'

const ACCOUNT_KEYS = ['serviceAccountName', 'serviceAccountNamespace']
const OWN_KEYS: readonly string[] = [...RULE_KEYS.filter((key) => key !== 'name'), ...ACCOUNT_KEYS]
const OWN_BUILTIN_KEYS: readonly string[] = [
  ...BUILTIN_KEYS.filter((key) => key !== 'name'),
  ...ACCOUNT_KEYS,
]
/** Of Kubernetes: a DNS subdomain. */
const ACCOUNT = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const NAMESPACE = /^(?=.{1,63}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?$/

/** Of Kubernetes itself; of those of others no object is in the policy's namespace anyway. */
const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  'Namespace',
  'CertificateSigningRequest.certificates.k8s.io',
  'ClusterRole.rbac.authorization.k8s.io',
  'ClusterRoleBinding.rbac.authorization.k8s.io',
  'ClusterTrustBundle.certificates.k8s.io',
  'CSIDriver.storage.k8s.io',
  'CSINode.storage.k8s.io',
  'DeviceClass.resource.k8s.io',
  'FlowSchema.flowcontrol.apiserver.k8s.io',
  'IngressClass.networking.k8s.io',
  'IPAddress.networking.k8s.io',
  'PersistentVolume',
  'PriorityClass.scheduling.k8s.io',
  'PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io',
  'ResourceSlice.resource.k8s.io',
  'RuntimeClass.node.k8s.io',
  'ServiceCIDR.networking.k8s.io',
  'VolumeAttachment.storage.k8s.io',
  'VolumeAttributesClass.storage.k8s.io',
])

/** `object`: of one of both kinds, whole, as JSON that an API server sent. */
export function policyContent(object: unknown, compile: CompileExpression): PolicyContent {
  let account = ''
  try {
    const { metadata, spec } = asMapping(object, 'the object')
    const { namespace, name } = asMapping(metadata, 'metadata')
    const own = nameOf(name, 'metadata.name')
    const space = namespaceOf(namespace)
    const fields = mapping(spec, OWN_KEYS, 'spec')
    checkUnused(fields)
    checkElsewhere(fields)
    account = accountOf(fields, space)
    const found =
      space === '' ? clusterRule(own, fields, compile) : ownRule(own, space, fields, compile)
    const rule: Rule = { ...found, account: account === '' ? null : account }
    checkPaths([rule], 'spec')
    return cappedPolicy({ rule, problem: '', account })
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    return cappedPolicy({ rule: null, problem: error.message, account })
  }
}

/** What is read of whole kinds for it, by which all that they use is on the log, is no author's. */
function checkUnused({ unused, builtin }: Mapping): void {
  if (unused === undefined && builtin !== 'unused') return
  throw bad('spec.unused: what nothing uses is asked by rules of the config file only')
}

/** What clusters share is no author's to say. */
function checkElsewhere({ elsewhere }: Mapping): void {
  if (elsewhere === undefined) return
  throw bad(
    'spec.elsewhere: owners in other clusters are asked for by rules of the config file only',
  )
}

function asMapping(value: unknown, what: string): Mapping {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Mapping
  throw bad(`${what}: expected a mapping`)
}

/** Empty where it is of the whole cluster. */
function namespaceOf(value: unknown): string {
  if (value === undefined || value === '') return ''
  if (typeof value === 'string' && NAMESPACE.test(value)) return value
  throw bad(`metadata.namespace: ${show(value).slice(0, 200)} is no name of a namespace`)
}

function accountOf(fields: Mapping, space: string): string {
  const [name, of] = ACCOUNT_KEYS.map((key) => {
    return text({ key, value: fields[key], from: `spec.${key}` })
  })
  if (name === undefined) {
    if (space !== '') {
      throw bad(
        'spec.serviceAccountName: is missing: a ServiceAccount of this namespace, by whose rights the rule deletes',
      )
    }
    if (of !== undefined) throw bad('spec.serviceAccountName: is missing beside its namespace')
    return ''
  }
  if (!ACCOUNT.test(name)) {
    throw bad(`spec.serviceAccountName: ${show(name).slice(0, 200)} is no name of a ServiceAccount`)
  }
  return `system:serviceaccount:${accountNamespace(of, space)}:${name}`
}

function accountNamespace(given: string | undefined, space: string): string {
  if (space === '') {
    if (given !== undefined && NAMESPACE.test(given)) return given
    throw bad('spec.serviceAccountNamespace: is missing, or no name of a namespace')
  }
  if (given === undefined || given === space) return space
  throw bad(
    `spec.serviceAccountNamespace: a CleanupPolicy deletes by an account of its own namespace, ${space}; leave it out`,
  )
}

function clusterRule(own: string, fields: Mapping, compile: CompileExpression): Rule {
  const name = `*/${own}`
  const { builtin } = fields
  if (builtin === undefined) return besideSystem(ruleOf(name, fields, { from: 'spec', compile }))
  if (typeof builtin !== 'string' || !Object.hasOwn(BUILTINS, builtin)) {
    throw bad(`spec.builtin: is none of ${Object.keys(BUILTINS).join(', ')}`)
  }
  mapping(fields, OWN_BUILTIN_KEYS, 'spec (built in)')
  const [first, ...others] = Object.values(BUILTINS[builtin] ?? {})
  if (first === undefined || others.length > 0) {
    throw bad(
      `spec.builtin: ${builtin} is ${others.length + 1} rules, and a policy is one; list it in the config file`,
    )
  }
  return ruleOf(name, builtinFields(first, fields, 'spec'), { from: 'spec', compile })
}

/** Of one namespace. That it is in it selects nothing: what it takes must select by more. */
function ownRule(own: string, space: string, fields: Mapping, compile: CompileExpression): Rule {
  if (fields['builtin'] !== undefined) {
    throw bad(
      `spec.builtin: a built-in rule is about the whole cluster: take a ${CLUSTER_POLICY_KIND.kind}, or write ${CASE_KEYS.join(', ')}`,
    )
  }
  // Its author need not know which objects exist outside of the namespace.
  const other = ['absent', 'beside'].find((key) => fields[key] !== undefined)
  if (other !== undefined) {
    throw bad(
      `spec.${other}: a CleanupPolicy knows of its own namespace only: take a ${CLUSTER_POLICY_KIND.kind}`,
    )
  }
  const { match, ...others } = fields
  const given = { ...others, match: withinOwn(match, space) }
  const reading = { from: 'spec', compile, within: space }
  const rule = ruleOf(`${space}/${own}`, given, reading)
  if (rule.limit !== null && rule.limit.percent > 0) {
    throw bad('spec.limit.percent: how many objects its namespace has is not counted; take perHour')
  }
  const wide = rule.match.kinds
    .map(({ group, kind }) => (group === '' ? kind : `${kind}.${group}`))
    .find((kind) => CLUSTER_SCOPED.has(kind))
  if (wide !== undefined) {
    throw bad(
      `spec.match.kinds: ${wide} is in no namespace, and a CleanupPolicy is about its own; take a ${CLUSTER_POLICY_KIND.kind}`,
    )
  }
  return rule
}

/** Without its namespaces: they are its own, or it is refused. */
function withinOwn(match: unknown, space: string): unknown {
  if (typeof match !== 'object' || match === null || Array.isArray(match)) return match
  const { namespaces, ...rest } = match as Mapping
  if (rest['exceptNamespaces'] !== undefined) {
    throw bad(
      `spec.match.exceptNamespaces: a CleanupPolicy is about its own namespace, ${space}; leave it out`,
    )
  }
  if (namespaces === undefined) return rest
  const isOwn =
    Array.isArray(namespaces) && namespaces.length > 0 && namespaces.every((each) => each === space)
  if (isOwn) return rest
  throw bad(
    `spec.match.namespaces: a CleanupPolicy is about its own namespace, ${space}, and no other; leave it out`,
  )
}
