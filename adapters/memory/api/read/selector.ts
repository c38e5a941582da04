/**
 * Label and field selectors of lists, watches and collection deletes.
 *
 * What must stay true: a field that a kind does not offer is refused, never ignored: ignoring one
 * would list too much.
 */
import type { Kind } from '../kind.ts'
import { type ApiObject, isJsonObject } from '../object.ts'
import { badRequest } from '../status.ts'

export type Selector = (object: ApiObject) => boolean

const SET_BASED = /^\s*([^\s,!=()]+)\s+(in|notin)\s*\(([^)]*)\)\s*(?:,|$)/
const EQUALITY = /^\s*([^\s,!=()]+)\s*(==|=|!=)\s*([^\s,!=()]*)\s*(?:,|$)/
const EXISTENCE = /^\s*(!?)\s*([^\s,!=()]+)\s*(?:,|$)/

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  pods: ['spec.nodeName', 'spec.restartPolicy', 'status.phase', 'status.podIP'],
  events: [
    'involvedObject.kind',
    'involvedObject.namespace',
    'involvedObject.name',
    'involvedObject.uid',
    'involvedObject.apiVersion',
    'involvedObject.resourceVersion',
    'involvedObject.fieldPath',
    'reason',
    'reportingComponent',
    'source',
    'type',
  ],
  namespaces: ['status.phase'],
  nodes: ['spec.unschedulable'],
  secrets: ['type'],
  jobs: ['status.successful'],
  replicasets: ['status.replicas'],
  replicationcontrollers: ['status.replicas'],
}

const EVERYTHING: Selector = () => true

/** Undefined when the query selects nothing in particular. */
export function selectorIn(query: URLSearchParams, kind: Kind): Selector | undefined {
  const labels = query.get('labelSelector') ?? ''
  const fields = query.get('fieldSelector') ?? ''
  if (labels === '' && fields === '') return undefined
  const byLabels = labels === '' ? EVERYTHING : labelSelector(labels)
  const byFields = fields === '' ? EVERYTHING : fieldSelector(fields, kind)
  return (object) => byLabels(object) && byFields(object)
}

function labelSelector(text: string): Selector {
  const requirements: ((labels: Readonly<Record<string, string>>) => boolean)[] = []
  let rest = text
  while (rest.trim() !== '') {
    const set = SET_BASED.exec(rest)
    const equality = EQUALITY.exec(rest)
    const existence = EXISTENCE.exec(rest)
    if (set !== null) {
      const [, label, operator, list] = set
      const values = list!.split(',').map((value) => value.trim())
      const isIn = operator === 'in'
      requirements.push((labels) => {
        const value = labels[label!]
        return isIn
          ? value !== undefined && values.includes(value)
          : !values.includes(value ?? '\0')
      })
    } else if (equality !== null) {
      const [, label, operator, value] = equality
      requirements.push((labels) => (labels[label!] === value) === (operator !== '!='))
    } else if (existence !== null) {
      const [, not, label] = existence
      requirements.push((labels) => Object.hasOwn(labels, label!) === (not === ''))
    } else throw badRequest(`unable to parse requirement: ${rest}`)
    rest = rest.slice((set ?? equality ?? existence)![0].length)
  }
  return ({ metadata }) => requirements.every((holds) => holds(metadata.labels ?? {}))
}

function fieldSelector(text: string, kind: Kind): Selector {
  const known = ['metadata.name', 'metadata.namespace', ...(FIELDS[kind.resource] ?? [])]
  const requirements = text.split(',').map((part) => {
    const [, field = '', operator, value] = /^\s*([^=!]+?)\s*(==|!=|=)\s*(.*?)\s*$/.exec(part) ?? []
    if (!known.includes(field)) {
      const offered = known.map((it) => `"${it}"`).join(', ')
      throw badRequest(`"${field}" is not a known field selector: only ${offered}`)
    }
    const path = field.split('.')
    return (object: ApiObject) => (valueAt(object, path) === value) === (operator !== '!=')
  })
  return (object) => requirements.every((holds) => holds(object))
}

function valueAt(object: unknown, path: readonly string[]): string {
  let found = object
  for (const part of path) found = isJsonObject(found) ? found[part] : undefined
  return found === undefined || found === null ? '' : String(found)
}
