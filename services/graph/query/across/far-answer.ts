/**
 * What the parts of all processes say together of an owner that objects of other clusters name by
 * `kinfold.io/owner`.
 *
 * What must stay true: an owner is the object of that cluster and that uid, and no other. To who
 * may not see all of it, the cluster of an owner is called by the id that the annotation has,
 * unless the owner is shown.
 *
 * Not here: what one process knows (far-part.ts).
 */
import { OWNER_ANNOTATION } from '../../../../core/model/rule/elsewhere.ts'
import type { Across } from '../../api/answer-schema.ts'
import type { AnswerOf, ClusterRef, Row } from '../../api/document.ts'
import { FAR_TOOL } from '../../api/word.ts'
import type { FarGroup, FarOfCluster } from './far-part.ts'

type AcrossAnswer = AnswerOf<Across>
type PartRow = Row<AcrossAnswer['parts']>
type ManagerRow = Row<AcrossAnswer['managers']>

const TOOL = { tool: FAR_TOOL, toolName: 'Kinfold' }

interface FarJoining {
  /** Clusters of the owner; undefined: any. */
  readonly within: ReadonlySet<string> | undefined
  readonly refOf: (cluster: string) => ClusterRef
  readonly isWhole: boolean
}

export interface FarAnswer {
  readonly rows: readonly PartRow[]
  readonly managers: readonly ManagerRow[]
}

export function farJoined(all: readonly FarOfCluster[], joining: FarJoining): FarAnswer {
  const { within, refOf, isWhole } = joining
  const watched = new Set(
    all.flatMap(({ cluster, owners }) => owners.map(({ uid }) => idOf(cluster, uid))),
  )
  const groups = all
    .toSorted((a, b) => (orderOf(refOf(a.cluster)) < orderOf(refOf(b.cluster)) ? -1 : 1))
    .flatMap(({ cluster, groups }) => groups.map((group) => ({ cluster, group })))
    .filter(({ group }) => within?.has(group.owner.cluster) ?? true)
  const rows = groups.map(({ cluster, group }): PartRow => {
    const { group: apiGroup, kind, namespace, name, uid } = group.owner
    const isWatched = watched.has(idOf(group.owner.cluster, uid))
    const { deletes, because, marked, dependents, objects } = group
    return {
      cluster: refOf(cluster),
      manager: { ...TOOL, group: apiGroup, kind, namespace, name },
      managers: isWatched ? 1 : 0,
      by: isWatched || isWhole ? refOf(group.owner.cluster) : bareRef(group.owner.cluster),
      ...{ marked, kept: 0, dependents, deletes, because, objects },
    }
  })
  return { rows, managers: managersOf(all, groups, refOf) }
}

/** Watched ones that anything names. */
function managersOf(
  all: readonly FarOfCluster[],
  groups: readonly { readonly group: FarGroup }[],
  refOf: FarJoining['refOf'],
): readonly ManagerRow[] {
  return all.flatMap(({ cluster, owners }) =>
    owners.flatMap((owner): ManagerRow[] => {
      const its = groups.filter(({ group }) => {
        return idOf(group.owner.cluster, group.owner.uid) === idOf(cluster, owner.uid)
      })
      if (its.length === 0) return []
      const deletes = DELETES.find((each) => its.some(({ group }) => group.deletes === each))
      const because = `objects of other clusters name it by ${OWNER_ANNOTATION}, and rules decide about these`
      return [
        { cluster: refOf(cluster), ...TOOL, ...owner, deletes: deletes ?? 'unknown', because },
      ]
    }),
  )
}

/** What is said of all of them. */
const DELETES = ['managed', 'unknown', 'nothing'] as const

export function bareRef(id: string): ClusterRef {
  return { name: id, id, scope: id }
}

function idOf(cluster: string, uid: string): string {
  return `${cluster}/${uid}`
}

function orderOf({ name, id }: ClusterRef): string {
  return `${name} ${id}`
}
