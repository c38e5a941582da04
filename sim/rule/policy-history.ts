/**
 * The CleanupPolicies and ClusterCleanupPolicies of each simulated cluster and what became of them,
 * and which of them permits a DELETE (I40).
 *
 * What must stay true: it follows from the servers' effects alone and from what policies were
 * drawn; nothing here compiles a specification. A restore takes no policy back that a reaper may
 * just have read.
 *
 * Not here: when an object is due (rule-law.ts).
 */
import type { ApiObject, Effect } from '../../adapters/memory/api-server.ts'
import type { RulePolicy } from '../../core/model/command.ts'
import { policyResource } from '../../core/model/rule/annotate.ts'
import {
  CLUSTER_POLICY_KIND,
  ENFORCE_ANNOTATION,
  POLICY_KIND,
} from '../../core/model/rule/policy-content.ts'
import { type Rule, ruleDigest } from '../../core/model/rule/rule.ts'
import { POLICY_VERSION } from '../../ports/rule/policy-kind.ts'
import type { World } from '../model.ts'
import type { Site } from '../site.ts'
import { type DrawnPolicy, isPowerless, type PolicyPlace } from './drawn-policy.ts'

/** For how long a reaper remembers a policy that it has read, and until its DELETE is sent. */
const MEMORY_MS = 5_000
const SENT_MS = 2_000

export const RESOURCE: string = policyResource(POLICY_KIND.kind)
export const CLUSTER_RESOURCE: string = policyResource(CLUSTER_POLICY_KIND.kind)
const RESOURCES: readonly string[] = [RESOURCE, CLUSTER_RESOURCE]
const ROOT = `/apis/${POLICY_KIND.group}/${POLICY_VERSION}`

/** Of no namespace: those of the cluster. */
export function policiesPath(namespace: string): string {
  if (namespace === '') return `${ROOT}/${CLUSTER_RESOURCE}`
  return `${ROOT}/namespaces/${namespace}/${RESOURCE}`
}

/** Since then it was so; null: it did not exist. Elapsed time. */
interface Version {
  readonly ms: number
  readonly object: ApiObject | null
}

interface Past {
  server: unknown
  /** By uid, the last version last. */
  readonly versions: Map<string, Version[]>
}

const PASTS = new WeakMap<Site, Past>()

function pastOf(site: Site): Past {
  const known = PASTS.get(site) ?? { server: site.server, versions: new Map() }
  PASTS.set(site, known)
  return known
}

/** Of any effect, also while a restore repeats it. */
export function notePolicy(world: World, site: Site, { kind, before, after }: Effect): void {
  const past = pastOf(site)
  const ms = world.time.monotonicMs()
  if (past.server !== site.server) {
    for (const versions of past.versions.values()) versions.push({ ms, object: null })
    past.server = site.server
  }
  if (!RESOURCES.includes(kind.resource) || kind.group !== POLICY_KIND.group) return
  const { uid } = (after ?? before)!.metadata
  const versions = past.versions.get(uid) ?? []
  past.versions.set(uid, versions)
  // What was so between two writes that a restore repeats was never so.
  if (site.isReplaying && versions.at(-1)?.ms === ms) versions.pop()
  versions.push({ ms, object: after })
}

const DRAWN = new WeakMap<World, Map<string, DrawnPolicy>>()
const RULES = new WeakMap<World, Map<string, Rule>>()

/** Before its author writes it. */
export function noteDrawn(world: World, place: PolicyPlace, drawn: DrawnPolicy): void {
  const [all, rules] = [DRAWN.get(world) ?? new Map(), RULES.get(world) ?? new Map()]
  DRAWN.set(world, all.set(keyOf(place, drawn.spec), drawn))
  RULES.set(world, rules.set(ruleDigest(drawn.rule), drawn.rule))
}

/** Of a policy that was drawn, refused ones included. */
export function drawnRule(world: World, digest: string): Rule | undefined {
  return RULES.get(world)?.get(digest)
}

export function drawnOf(world: World, object: ApiObject): DrawnPolicy | undefined {
  const { namespace = '', name } = object.metadata
  return DRAWN.get(world)?.get(keyOf({ namespace, name }, object['spec']))
}

function keyOf({ namespace, name }: PolicyPlace, spec: unknown): string {
  return `${namespace}/${name} ${JSON.stringify(spec)}`
}

/** The rules of its policies, as they are now. */
export function policyRules(world: World, site: Site): readonly Rule[] {
  return drawnNow(world, site).map(({ drawn }) => drawn.rule)
}

/** Of those policies that their annotation enforces, by an account that may delete. */
export function enforcedRules(world: World, site: Site): readonly Rule[] {
  return drawnNow(world, site).flatMap(({ object, drawn }) => {
    const enforced = object.metadata.annotations?.[ENFORCE_ANNOTATION]
    const isEnforced = enforced === ruleDigest(drawn.rule)
    return isEnforced && !isPowerless(drawn.account) ? drawn.rule : []
  })
}

/** Those that are enforced, and whose account may delete nothing: they shield from others. */
export function powerlessRules(world: World, site: Site): readonly Rule[] {
  return drawnNow(world, site).flatMap(({ object, drawn }) => {
    const enforced = object.metadata.annotations?.[ENFORCE_ANNOTATION]
    const isEnforced = enforced === ruleDigest(drawn.rule)
    return isEnforced && isPowerless(drawn.account) ? drawn.rule : []
  })
}

/**
 * A restore took their definition back. What they have read of objects is still asked for by the
 * graph, and read by no watcher: nothing is decided until the kind is there again.
 */
export function hasLostPolicies(site: Site): boolean {
  const all = [...site.server.objects('apiextensions.k8s.io', 'customresourcedefinitions')]
  const defined = new Set(all.map(({ metadata }) => metadata.name))
  return [...pastOf(site).versions.values()].flat().some(({ object }) => {
    if (object === null) return false
    return !defined.has(`${policyResource(object.kind)}.${POLICY_KIND.group}`)
  })
}

interface DrawnNow {
  readonly object: ApiObject
  readonly drawn: DrawnPolicy
}

/** Neither refused nor being deleted. */
function drawnNow(world: World, site: Site): readonly DrawnNow[] {
  if (!DRAWN.has(world)) return []
  const all = RESOURCES.flatMap((each) => [...site.server.objects(POLICY_KIND.group, each)])
  return all.flatMap((object) => {
    const drawn = drawnOf(world, object)
    const isOver = object.metadata.deletionTimestamp !== undefined
    return drawn === undefined || drawn.isRefused || isOver ? [] : { object, drawn }
  })
}

export interface Asked {
  readonly world: World
  readonly site: Site
  readonly policy: RulePolicy
  readonly digest: string
  /** Of the object that is deleted. */
  readonly namespace: string
  /** With whose rights; empty: the reaper's own. */
  readonly account: string
  readonly sentMs: number
}

/** Empty where a policy permits it, or did while the reaper may have remembered that. */
export function policyObjection(asked: Asked): string {
  const { site, policy, sentMs } = asked
  const versions = pastOf(site).versions.get(policy.uid) ?? []
  const sinceMs = sentMs - MEMORY_MS - SENT_MS
  const then = versions.filter((_, index) => {
    const endMs = versions[index + 1]?.ms ?? Number.POSITIVE_INFINITY
    return endMs >= sinceMs
  })
  const objections = then.map(({ object }) => objectionTo(object, asked))
  const what = `policy ${policy.namespace || '*'}/${policy.name}`
  if (objections.includes('')) return ''
  return `${what} ${objections.at(-1) ?? 'never existed'} (I40)`
}

function objectionTo(object: ApiObject | null, asked: Asked): string {
  if (object === null) return 'does not exist'
  const { metadata } = object
  if (metadata.deletionTimestamp !== undefined) return 'is being deleted'
  const { namespace = asked.namespace } = metadata
  if (namespace !== asked.namespace) return `is of namespace ${namespace}`
  const drawn = drawnOf(asked.world, object)
  if (drawn === undefined) return 'is none that a person wrote'
  if (drawn.isRefused) return 'is to be refused'
  if (ruleDigest(drawn.rule) !== asked.digest) return 'is another rule'
  if (drawn.account !== asked.account) {
    const [right, wrong] = [drawn.account, asked.account].map((each) => each || 'the reaper')
    return `deletes as ${right}, not ${wrong}`
  }
  const enforced = metadata.annotations?.[ENFORCE_ANNOTATION]
  return enforced === asked.digest ? '' : 'is not enforced by its annotation'
}
