/**
 * The cluster's own CleanupPolicies and ClusterCleanupPolicies, as its watcher has them: their
 * rules say what is read of other objects.
 *
 * What must stay true: before a kind of policies was listed nothing is concluded from it; the rules
 * in force are those of the fold (core/model/rule/policy-in-force.ts), or objects would be read for
 * others than decide. One kind is read anew once a while at most, so an author of policies has not
 * the whole cluster listed all day.
 *
 * Not here: compiling a rule (adapters/kubernetes/meta.ts), lists and watches (kind-monitor.ts).
 */
import type { GroupKind, ObjectMeta, Uid } from '../../../core/model/object.ts'
import { compareVersions } from '../../../core/model/object.ts'
import { policyResource } from '../../../core/model/rule/annotate.ts'
import {
  CLUSTER_POLICY_KIND,
  isPolicyKind,
  POLICY_KIND,
} from '../../../core/model/rule/policy-content.ts'
import { ageOf, inForce, ruleOfPolicy } from '../../../core/model/rule/policy-in-force.ts'
import type { KindReads, Rule } from '../../../core/model/rule/rule.ts'
import type { Cluster, Resource, WatchEvent } from '../../../ports/cluster.ts'
import { allReadsIn, kindDigest, type Projection } from '../../../ports/record/projection.ts'
import { POLICY_VERSION } from '../../../ports/rule/policy-kind.ts'
import { type KindKey, kindKey } from './catalog.ts'

export const POLICY_RESOURCES: readonly Resource[] = [
  {
    ...{ ...POLICY_KIND, version: POLICY_VERSION, resource: policyResource(POLICY_KIND.kind) },
    scope: 'Namespaced',
  },
  {
    ...{ ...CLUSTER_POLICY_KIND, version: POLICY_VERSION },
    resource: policyResource(CLUSTER_POLICY_KIND.kind),
    scope: 'Cluster',
  },
]

export class PolicyReads {
  readonly #objects = new Map<KindKey, Map<Uid, ObjectMeta>>()
  #rules: readonly Rule[] | null = null

  listed(kind: GroupKind, objects: readonly ObjectMeta[]): void {
    if (!isPolicyKind(kind)) return
    this.#objects.set(kindKey(kind), new Map(objects.map((object) => [object.uid, object])))
    this.#rules = null
  }

  took(events: readonly WatchEvent[]): void {
    for (const event of events) {
      if (event.type !== 'Bookmark' && isPolicyKind(event.object)) this.#take(event)
    }
  }

  #take({ type, object }: Exclude<WatchEvent, { type: 'Bookmark' }>): void {
    const objects = this.#objects.get(kindKey(object))
    // Before its list nothing is known of the others.
    if (objects === undefined) return
    const known = objects.get(object.uid)
    const order = known && compareVersions(object.resourceVersion, known.resourceVersion)
    if (order !== undefined && order < 0) return
    if (type === 'Deleted') objects.delete(object.uid)
    else objects.set(object.uid, object)
    this.#rules = null
  }

  /** In force, as the fold has them. */
  get rules(): readonly Rule[] {
    this.#rules ??= this.#inForce()
    return this.#rules
  }

  #inForce(): readonly Rule[] {
    const byName = new Map<string, Parameters<typeof inForce>[0][number]>()
    for (const object of [...this.#objects.values()].flatMap((all) => [...all.values()])) {
      const rule = ruleOfPolicy(object)
      if (rule === null) continue
      const { uid, namespace } = object
      const createdAt = ageOf(object)
      // Made again under its name, before the deletion of the former one is reported.
      const twin = byName.get(rule.name)
      if (twin !== undefined && twin.createdAt > createdAt) continue
      byName.set(rule.name, { uid, namespace, createdAt, rule })
    }
    return inForce([...byName.values()]).map(({ rule }) => rule)
  }
}

/** Before a session begins, so that no kind is listed twice, first for less than is read of it. */
export async function listPolicies(
  server: Cluster,
  resource: Resource,
  policies: PolicyReads,
  signal: AbortSignal,
): Promise<void> {
  const objects: ObjectMeta[] = []
  for await (const page of server.list(resource, PAGE, signal)) objects.push(...page.objects)
  signal.throwIfAborted()
  policies.listed(resource, objects)
}

const PAGE = 100

/** The next projection, and the kinds of which something else is read by it. */
export interface Reread {
  readonly projection: Projection
  readonly kinds: readonly GroupKind[]
}

/** A kind that may not be read anew for now is read as it was. */
export function rereadOf(
  now: Projection,
  wanted: Projection,
  mayReread: (kind: GroupKind) => boolean,
): Reread {
  const all = new Map<KindKey, GroupKind>(
    [...now.kinds, ...wanted.kinds].map(({ group, kind }) => [
      kindKey({ group, kind }),
      { group, kind },
    ]),
  )
  const kinds: GroupKind[] = []
  const reads: KindReads[] = []
  for (const kind of all.values()) {
    const isOther = kindDigest(now, kind) !== kindDigest(wanted, kind)
    const isDone = isOther && mayReread(kind)
    if (isDone) kinds.push(kind)
    reads.push(...allReadsIn(isDone ? wanted : now, kind))
  }
  return { projection: { ...now, kinds: reads }, kinds }
}
