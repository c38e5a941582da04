/**
 * `kinfold lineage export`: the graph for other programs, as it is now or was at a moment. Of now
 * it reads the public lineage stream, as any other consumer could; of a moment the pages of a list.
 *
 * What must stay true: of an object the last record counts; a stream that is cut, and a list that
 * lacks something, give no file that looks whole.
 */
import { once } from 'node:events'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { AsOf, ObjectList, Queries } from '../answer.ts'
import { type ExportedObject, FORMATS, type FormatName } from '../print/graph-format.ts'
import { lineOf } from '../print/terminal.ts'
import { countOf } from '../print/word.ts'
import { answerTo, type Server } from '../reach/client.ts'

/** Mermaid itself draws no more, unless it is configured to. */
const MERMAID_EDGES = 500

interface Line {
  readonly partition: number
  readonly offset: number
  readonly key: string
  readonly value: Record | null
}

interface Record extends Omit<ExportedObject, 'cluster' | 'createdAt' | 'deletedAt'> {
  readonly cluster: string
  readonly clusterName: string
  readonly scope: string
  readonly createdAt: number | null
  readonly deletedAt: number | null
  /** Behind those in `owners`; undefined of an older service. */
  readonly moreOwners?: number
}

export interface Export {
  readonly output: FormatName
  /** Also what was deleted, while its record is kept. */
  readonly gone: boolean
}

/** `lines`: of `/v1/lineage` from its start to its end. `partial`: what they lack. */
export async function exportLineage(
  lines: AsyncIterable<string>,
  { output, gone }: Export,
  partial = '',
): Promise<void> {
  const kept = new Map<string, ExportedObject>()
  const ends = new Map<number, number>()
  /** By key, the owners that a record of a long list does not name. */
  const more = new Map<string, number>()
  for await (const line of lines) {
    if (line === '') continue
    const { partition, offset, key, value } = JSON.parse(line) as Line
    ends.set(partition, offset + 1)
    more.delete(key)
    if (value?.moreOwners) more.set(key, value.moreOwners)
    if (value === null || (value.phase === 'gone' && !gone)) kept.delete(key)
    else kept.set(key, exported(value))
  }
  const positions = [...ends].sort(([a], [b]) => a - b).map(([at, end]) => `${at}-${end}`)
  const later = `later changes: /v1/lineage?from=${positions.join(',') || 'start'}`
  await print(kept, output, later)
  const left = [...more].reduce((sum, [key, count]) => (kept.has(key) ? sum + count : sum), 0)
  const lacks =
    left === 0
      ? ''
      : `it lacks ${countOf(left, 'owner reference')} of objects that have more than 64; "kinfold tree KIND/NAME" has them, and so has an export with --at`
  const doubts = [partial, lacks].filter((text) => text !== '').join('; ')
  if (doubts !== '') throw new ExitError(EXIT.findings, `this is incomplete: ${doubts}`)
}

/** Objects on a page. */
const PAGE_LIMIT = '2000'

/** `query`: as `/v1/objects` takes it, with a moment. */
export async function exportPast(
  server: Server,
  query: Queries['/v1/objects'],
  output: FormatName,
): Promise<void> {
  const kept = new Map<string, ExportedObject>()
  const doubts = new Set<string>()
  let asOf: readonly AsOf[] = []
  const asked = { ...query, references: true, limit: PAGE_LIMIT }
  for (let next: string | null | undefined; next !== null; ) {
    const page: ObjectList = await answerTo(server, '/v1/objects', { ...asked, continue: next })
    for (const object of page.objects) {
      // A list has objects without a namespace beside those of any.
      if (query.namespace !== undefined && object.namespace !== query.namespace) continue
      kept.set(`${object.cluster.id}/${object.uid}`, exportedThen(object))
    }
    if (page.partial !== '') doubts.add(page.partial)
    if (asOf.length === 0) asOf = page.asOf
    next = page.continue
  }
  const lacking = [...doubts].join('; ')
  if (asOf.length === 0 && lacking !== '') throw new ExitError(EXIT.failure, lacking)
  const { momentText } = await import('../reach/moment.ts')
  await print(kept, output, momentText(asOf))
  if (lacking !== '') throw new ExitError(EXIT.findings, `this may be incomplete: ${lacking}`)
}

/** `about`: what is said beside the counts. */
async function print(
  kept: ReadonlyMap<string, ExportedObject>,
  output: FormatName,
  about: string,
): Promise<void> {
  for (const part of FORMATS[output]({ [Symbol.iterator]: () => kept.values() })) {
    if (!process.stdout.write(part)) await once(process.stdout, 'drain')
  }
  const references = [...kept.values()].reduce((sum, { owners }) => sum + owners.length, 0)
  const text = `${countOf(kept.size, 'object')}, ${countOf(references, 'owner reference')}; ${about}`
  process.stderr.write(`${lineOf(text)}\n`)
  if (output === 'mermaid' && references > MERMAID_EDGES) {
    process.stderr.write(
      `warning: Mermaid draws ${MERMAID_EDGES} references unless its maxEdges says more; choose a namespace with -n\n`,
    )
  }
}

function exportedThen(object: ObjectList['objects'][number]): ExportedObject {
  const { cluster, group, kind, namespace, name, uid, phase, createdAt, references } = object
  return {
    cluster: { name: cluster.name, id: cluster.id },
    ...{ group, version: '', kind, namespace, name, uid, phase, createdAt, why: '' },
    deletedAt: object.deletionTimestamp,
    owners: (references ?? []).map((owner) => ({
      ...{ apiVersion: owner.apiVersion, kind: owner.kind, name: owner.name, uid: owner.uid },
      controller: owner.controller === true,
      blocking: owner.blockOwnerDeletion === true,
      standing: '',
    })),
  }
}

function exported(record: Record): ExportedObject {
  const { cluster, clusterName, group, version, kind, namespace, name, uid, phase, why } = record
  return {
    cluster: { name: clusterName, id: cluster },
    ...{ group, version, kind, namespace, name, uid, phase },
    createdAt: timeOf(record.createdAt),
    deletedAt: timeOf(record.deletedAt),
    why,
    owners: record.owners,
  }
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
