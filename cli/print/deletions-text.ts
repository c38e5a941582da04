/**
 * What `kinfold deletions` prints. What must stay true: what is not known is printed as unknown,
 * and a guess as one.
 */
import { labelOf, recordedText } from '../../services/graph/api/word.ts'
import { deleterText, whoText } from '../../web/deletion-text.ts'
import type { DeletionList } from '../answer.ts'
import { GrowingTable } from './table.ts'
import { lineOf } from './terminal.ts'
import { objectName } from './word.ts'

type Deletion = DeletionList['deletions'][number]

export function printerOf(
  output: 'table' | 'wide' | 'name',
  { allNamespaces = false }: { readonly allNamespaces?: boolean },
): (deletions: readonly Deletion[]) => string {
  const isWide = output === 'wide'
  const table = new GrowingTable([
    ...['TIME', 'CLUSTER', ...(allNamespaces ? ['NAMESPACE'] : []), 'OBJECT'],
    ...(isWide
      ? ['EVIDENCE', 'BY', 'USER', 'ROOT', 'POSITION', 'UID', 'OBSERVED', 'COMMAND', 'MATCH']
      : []),
    'DELETED',
    ...(isWide ? ['DETAILS'] : []),
  ])
  return (deletions) => {
    if (output === 'name') {
      return deletions.map((deletion) => `${lineOf(objectName(deletion))}\n`).join('')
    }
    return table.add(deletions.map((deletion) => rowOf(deletion, isWide, allNamespaces)))
  }
}

function rowOf(deletion: Deletion, isWide: boolean, hasNamespace: boolean): readonly string[] {
  const { at, cluster, namespace, by, evidence, partition, position } = deletion
  const { uid, observed, command, deletedBy, text } = deletion
  return [
    ...[at ?? '-', labelOf(cluster)],
    ...(hasNamespace ? [namespace] : []),
    objectName(deletion),
    ...(isWide ? [evidence ?? '-'] : []),
    ...(isWide ? [by, deletedBy === null ? '-' : deleterText(deletedBy), rootText(deletion)] : []),
    ...(isWide ? [`pos:${partition}-${position}`, uid] : []),
    ...(isWide ? [observed ?? '-', command ?? '-', deletedBy?.match ?? '-'] : []),
    whoText(deletion),
    ...(isWide ? [recordedText(text)] : []),
  ]
}

function rootText({ root, isInferred }: Deletion): string {
  return root === null ? '-' : `${objectName(root)}${isInferred ? ' (inferred)' : ''}`
}
