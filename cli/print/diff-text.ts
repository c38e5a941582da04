/**
 * What `kinfold diff` prints.
 *
 * What must stay true: rows are in the order of cluster, namespace, name and kind, and of those
 * that had one name in the order of time; whatever an object is called, it has one row.
 */
import { evidenceText, labelOf, phaseText, recordedText } from '../../services/graph/api/word.ts'
import { whoText } from '../../web/deletion-text.ts'
import type { Diff } from '../answer.ts'
import { byName } from './get-order.ts'
import { structured } from './output.ts'
import { paint, type Style } from './paint.ts'
import { table } from './table.ts'
import { lineOf } from './terminal.ts'
import { objectName } from './word.ts'

type Output = 'table' | 'wide' | 'name' | 'json' | 'yaml'
type Row = Diff['differences'][number]
type Then = NonNullable<Row['from']>
type Deletion = NonNullable<Row['deletion']>

export function render(
  { count: _, ...answer }: Diff & { readonly count?: number },
  output: Output,
  /** Null: of all. */
  namespace: string | null,
): string {
  const differences = answer.differences.toSorted(byPlaceAndTime)
  const sorted = { ...answer, differences }
  switch (output) {
    case 'json':
    case 'yaml':
      return structured(sorted, output)
    case 'name':
      return differences.map((row) => `${lineOf(objectName(row))}\n`).join('')
    case 'table':
    case 'wide':
      return differences.length === 0
        ? `No differences${namespace === null ? '' : ` in namespace ${lineOf(namespace)}`}.\n`
        : rows(differences, output === 'wide', namespace === null)
  }
}

/** One that was deleted comes before the one that was added in its place. */
function byPlaceAndTime(a: Row, b: Row): number {
  const byPlace = byName({ ...a, uid: '' }, { ...b, uid: '' })
  return byPlace || (a.at ?? '').localeCompare(b.at ?? '') || byName(a, b)
}

const STYLES: Readonly<Record<Row['change'], Style>> = {
  added: 'green',
  deleted: 'red',
  changed: 'yellow',
}

function rows(all: readonly Row[], isWide: boolean, hasNamespace: boolean): string {
  const head = [
    ...['CHANGE', 'TIME', 'CLUSTER', ...(hasNamespace ? ['NAMESPACE'] : []), 'OBJECT'],
    ...(isWide ? ['UID', 'EVIDENCE', 'COMMAND'] : []),
    'DETAILS',
  ]
  const cells = all.map((row) => [
    ...[row.change, row.at ?? '-', labelOf(row.cluster)],
    ...(hasNamespace ? [row.namespace] : []),
    objectName(row),
    ...(isWide ? [row.uid, row.deletion?.evidence ?? '-', row.deletion?.command ?? '-'] : []),
    detailsOf(row),
  ])
  const body = table(head, cells, (row, column) => {
    return column === 0 ? STYLES[all[row]?.change ?? 'changed'] : undefined
  })
  const counts = Map.groupBy(all, ({ change }) => change)
  const parts = (['added', 'deleted', 'changed'] as const).flatMap((change) => {
    const count = counts.get(change)?.length ?? 0
    return count === 0 ? [] : [paint(`${count} ${change}`, STYLES[change])]
  })
  return `${body}\n${lineOf(parts.join(', '))}.\n`
}

function detailsOf({ from, to, deletion }: Row): string {
  if (deletion !== null) return deletionText(deletion)
  if (to === null) return ''
  if (from === null) return to.owners.length === 0 ? '' : `owned by ${ownersText(to.owners)}`
  return [phasesText(from, to), ownerChangeText(from.owners, to.owners)]
    .filter((text) => text !== '')
    .join('; ')
}

function deletionText(deletion: Deletion): string {
  const { by, evidence, text } = deletion
  if (by !== 'kinfold') return whoText(deletion)
  const how = evidence === null ? '' : ` (${evidenceText(evidence)})`
  return `${whoText(deletion)}; ${recordedText(text)}${how}`
}

function phasesText(from: Then, to: Then): string {
  if (from.phase !== to.phase) return `${phaseText(from.phase)} → ${phaseText(to.phase)}`
  const isSame = from.deletionTimestamp === to.deletionTimestamp
  return isSame ? '' : 'its deletionTimestamp is another'
}

type Owners = Then['owners']

function ownerChangeText(from: Owners, to: Owners): string {
  if (JSON.stringify(from) === JSON.stringify(to)) return ''
  const [before, after] = [ownersText(from), ownersText(to)]
  if (before !== after) return `owners ${before || 'none'} → ${after || 'none'}`
  const [uids, others] = [from, to].map((owners) => owners.map(({ uid }) => uid).join(', '))
  if (uids !== others) return `owners ${before}: uid ${uids} → ${others}`
  return `owners ${before}: controller or blockOwnerDeletion is another`
}

function ownersText(owners: Owners): string {
  return owners.map(({ kind, name }) => `${kind.toLowerCase()}/${name}`).join(', ')
}
