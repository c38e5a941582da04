/**
 * Lists and objects as a table (meta.k8s.io/v1), which kubectl asks for and prints as it is: with
 * the owner, the state and the verdict of each.
 *
 * What must stay true: it holds the same objects as the answer that it is made of, in their order.
 * A client that asks for no table gets none.
 *
 * Not here: the objects (kubernetes-document.ts).
 */
import type { VerdictType } from '../../../core/model/node.ts'
import type { OwnedObject, OwnedObjectList, Table } from './kubernetes-schema.ts'
import { ageText, phaseText, shortText, withHeld } from './word.ts'

const META_VERSION = 'meta.k8s.io/v1'

/** `priority` above 0: only with `-o wide`. */
type Column = Table['columnDefinitions'][number]

const COLUMNS: readonly Column[] = [
  column('Name', 'RESOURCE.GROUP:NAME of the object.'),
  column('Owner', 'Its controller, or the first of its owners, and how many more there are.'),
  column('State', 'Whether it exists, or is being deleted.'),
  column('Verdict', 'What Kinfold would do with it.'),
  column('Age', 'Since it was created.'),
  { ...column('Because', 'Why the verdict is that.'), priority: 1 },
]

function column(name: string, description: string): Column {
  const format = name === 'Name' ? 'name' : ''
  return { name, type: 'string', format, description, priority: 0 }
}

/** Which of the shapes that `Accept` names comes first. */
export function isTableAsked(accept: string | undefined): boolean {
  const shapes = (accept ?? '').split(',').map((each) => {
    const [type, ...parameters] = each.split(';').map((word) => word.trim())
    return { type, parameters: new Set(parameters) }
  })
  const first = shapes.find(({ type, parameters }) => {
    const isJson = type === 'application/json' || type === 'application/*' || type === '*/*'
    return isJson && (!parameters.has('as=Table') || isTable(parameters))
  })
  return first?.parameters.has('as=Table') ?? false
}

function isTable(parameters: ReadonlySet<string>): boolean {
  return parameters.has('v=v1') && parameters.has('g=meta.k8s.io')
}

/** `include`: what each row has of its object: `None`, `Metadata` (without it) or `Object`. */
export function tableOf(
  answer: OwnedObject | OwnedObjectList,
  include: string | undefined,
  now: number,
): Table {
  const [items, metadata] = 'items' in answer ? [answer.items, answer.metadata] : [[answer], {}]
  return {
    ...{ kind: 'Table', apiVersion: META_VERSION, metadata, columnDefinitions: COLUMNS },
    rows: items.map((item) => ({ cells: cellsOf(item, now), ...objectIn(item, include) })),
  }
}

function objectIn(item: OwnedObject, include: string | undefined): { readonly object?: object } {
  if (include === 'None') return {}
  if (include === 'Object') return { object: item }
  const { metadata } = item
  return { object: { kind: 'PartialObjectMetadata', apiVersion: META_VERSION, metadata } }
}

function cellsOf({ metadata, status }: OwnedObject, now: number): readonly string[] {
  const { name, ownerReferences = [], creationTimestamp } = metadata
  const owner = ownerReferences.find(({ controller }) => controller === true) ?? ownerReferences[0]
  const more = ownerReferences.length > 1 ? ` and ${ownerReferences.length - 1} more` : ''
  const { phase, verdict, admission = null } = status
  return [
    name,
    owner === undefined ? '<none>' : `${owner.kind}/${owner.name}${more}`,
    phaseText(phase),
    verdict === undefined ? '<none>' : shortText(verdict.type as VerdictType, admission),
    creationTimestamp === undefined ? '<unknown>' : ageText(now - Date.parse(creationTimestamp)),
    verdict === undefined ? '<none>' : withHeld(verdict.because, admission),
  ]
}
