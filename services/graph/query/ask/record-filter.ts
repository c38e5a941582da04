/**
 * Which records of a stream are meant, and which of them the user may see.
 *
 * What must stay true: nothing is said of a record about an object that the user may not list in
 * its own cluster, not even that there is one: asked by namespace, kind and time, that would say
 * what others do. If it is unclear, the record is left out.
 *
 * Not here: reading the log (record-stream.ts).
 */
import type { FastifyRequest } from 'fastify'
import { factsOf } from '../../../../core/graph/facts.ts'
import type { ClusterId, GroupKind } from '../../../../core/model/object.ts'
import { clusterOfHome, objectKey } from '../../../../core/model/partition.ts'
import type { PublicRecord } from '../../../../ports/record/lineage.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import type { Clusters, KnownCluster } from '../view/clusters.ts'
import { LEFT_OUT } from '../view/sight.ts'
import type { Access } from './access.ts'
import { askedOf } from './choice.ts'
import { namedClusters, refuseUnknownKind } from './not-found.ts'

export interface RecordFilter {
  /**
   * The one cluster whose process has to answer, since it alone knows what may be listed there;
   * null: any process.
   */
  readonly only: ClusterId | null
  /** Which is asked for; empty: any. */
  readonly namespace: string
  /**
   * The clusters that are asked for; undefined: all, those included that no partition was given to.
   */
  readonly clusters: readonly KnownCluster[] | undefined
  /** False: it is not asked for, whatever its record says. */
  isOfClusters(key: string): boolean
  /** For `partial`: what is left out, if anything may be. */
  readonly partial: string
  /** Whether it is asked for, and who asks may see it. `record` null: the object is forgotten. */
  isShown(key: string, record: PublicRecord | null): Promise<boolean>
}

export interface FilterParts {
  readonly clusters: Clusters
  readonly access: Access
}

/** `change`: kinds of changes, with commas between. */
export async function recordFilter(
  parts: FilterParts,
  request: FastifyRequest,
  change: string | undefined = askedOf(request)['change'],
): Promise<RecordFilter> {
  const isWhole = await parts.access.mayAll(request)
  try {
    return await filterOf(parts, request, isWhole, change)
  } catch (error) {
    // The clusters and kinds are named only to users who may see the whole graph.
    if (!isWhole) await parts.access.graph(request)
    throw error
  }
}

async function filterOf(
  { clusters, access }: FilterParts,
  request: FastifyRequest,
  isWhole: boolean,
  change: string | undefined,
): Promise<RecordFilter> {
  const { cluster, kind, namespace, uid } = askedOf(request)
  const changes = change === undefined ? undefined : new Set(change.split(','))
  const all = await clusters.all(cluster)
  const asked = namedClusters(all, cluster)
  const ids = cluster === undefined ? undefined : new Set(asked.map(({ id }) => id))
  const [only] = asked
  if (!isWhole && (ids?.size !== 1 || only === undefined || !namespace)) {
    throw new Problem(403, 'a stream of a part takes the parameters cluster and namespace')
  }
  const views = new Map(asked.map((each) => [each.id, clusters.view(each)]))
  const word = kind === undefined ? undefined : await clusters.kindWords.of(kind)
  if (kind !== undefined) await refuseUnknownKind(clusters, kind, asked)
  /** By cluster and kind. */
  const meant = new Map<string, boolean>()
  const isMeant = (id: ClusterId, { group, kind: its }: GroupKind): boolean => {
    if (word === undefined) return true
    const key = `${id}/${group}/${its}`
    const known = meant.get(key)
    if (known !== undefined) return known
    const view = views.get(id)
    const object = { group, kind: its }
    const is = word.is(object, view && factsOf(view.reader, id).kind(object))
    meant.set(key, is)
    return is
  }
  const isChosen = (record: PublicRecord): boolean => {
    if (uid !== undefined && record.uid !== uid) return false
    return changes === undefined || (record.type === 'History' && changes.has(record.change))
  }
  return {
    only: isWhole ? null : (only?.id ?? null),
    namespace: namespace ?? '',
    clusters: ids === undefined ? undefined : asked,
    isOfClusters: (key) => ids === undefined || ids.has(clusterOfHome(key)),
    partial: isWhole ? '' : LEFT_OUT,
    async isShown(key, record) {
      const id = record?.cluster ?? clusterOfHome(key)
      if (ids !== undefined && !ids.has(id)) return false
      // Its kind and namespace are unknown; its deletion was published long ago.
      if (record === null) {
        const isAny = kind === undefined && namespace === undefined
        return isAny && (uid === undefined || key === objectKey(id, uid))
      }
      if (namespace !== undefined && record.namespace !== namespace) return false
      if (!isMeant(id, record) || !isChosen(record)) return false
      return isWhole || (await access.mayList(request, record))
    },
  }
}
