/**
 * What the parts of all processes say together of what named an owner by `kinfold.io/owner` in
 * other clusters, and is gone.
 *
 * What must stay true: to who may not see all of it, the cluster of the owner is called by the id
 * that was asked for.
 *
 * Not here: what one process knows (gone-part.ts).
 */
import { OWNER_ANNOTATION } from '../../../../core/model/rule/elsewhere.ts'
import type { Across } from '../../api/answer-schema.ts'
import type { AnswerOf, ClusterRef, Row } from '../../api/document.ts'
import { bareRef } from './far-answer.ts'
import type { GoneGroup, GoneOfCluster } from './gone-part.ts'

type GoneRow = Row<AnswerOf<Across>['gone']>

interface GoneJoining {
  readonly refOf: (cluster: string) => ClusterRef
  readonly isWhole: boolean
  readonly limit: number
}

export function goneJoined(
  all: readonly GoneOfCluster[],
  { refOf, isWhole, limit }: GoneJoining,
): readonly GoneRow[] {
  let left = limit
  return all
    .toSorted((a, b) => (nameOf(refOf(a.cluster)) < nameOf(refOf(b.cluster)) ? -1 : 1))
    .flatMap(({ cluster, groups }) => groups.map((group) => ({ cluster, group })))
    .map(({ cluster, group }) => {
      const { owner, rule, gone, dependents, left: stays } = group
      const objects = group.objects.slice(0, left)
      left -= objects.length
      return {
        cluster: refOf(cluster),
        by: isWhole ? refOf(owner.cluster) : bareRef(owner.cluster),
        ...{ rule, because: becauseOf(group), gone, dependents, left: stays, objects },
      }
    })
}

function becauseOf({ rule }: GoneGroup): string {
  return rule === null
    ? 'not by a rule about owners in other clusters'
    : `by rule ${rule}, as their owner was deleted`
}

export function goneText(rows: readonly GoneRow[]): string {
  const sum = (of: (row: GoneRow) => number): number => rows.reduce((all, row) => all + of(row), 0)
  const [gone, dependents] = [sum((row) => row.gone), sum((row) => row.dependents)]
  const clusters = new Set(rows.map(({ cluster }) => cluster.id)).size
  const [was, them] = gone === 1 ? ['was', 'it'] : ['were', 'them']
  const owned = dependents === 0 ? '' : `, and ${count(dependents, 'dependent')} of ${them}`
  return `${count(gone, 'object')} in ${count(clusters, 'cluster')} that named it as owner by ${OWNER_ANNOTATION} ${was} deleted since${owned}`
}

function nameOf({ name, id }: ClusterRef): string {
  return `${name} ${id}`
}

function count(number: number, one: string): string {
  return `${number} ${one}${number === 1 ? '' : 's'}`
}
