/**
 * How objects are written: whole, as metadata only, or as rows of a table, as the Accept header
 * demands.
 *
 * What must stay true: the metadata form never holds a body; items of a list are written one by
 * one, so that a list of any length costs no memory of its own.
 *
 * Not here: which objects (read.ts, watch.ts), the columns (column.ts).
 */

import type { Kind } from '../kind.ts'
import type { ApiObject } from '../object.ts'
import { notAcceptable } from '../status.ts'
import { columnsOf } from './column.ts'
import { told } from './version.ts'

export type Form =
  | { readonly type: 'object' }
  | { readonly type: 'metadata' }
  /** `include` says which part of the object is in each row. */
  | { readonly type: 'table'; readonly include: 'None' | 'Metadata' | 'Object' }

/** Discovery has its own (discovery.ts). */
const META = 'meta.k8s.io'
const AVAILABLE = '406: Not Acceptable\n\nAvailable representations: application/json'

export interface MediaRange {
  readonly type: string
  readonly parameters: Readonly<Record<string, string>>
}

/** A client asks for the same few types with every request. */
const MOST_ACCEPTS = 100
const rangesOf = new Map<string, readonly MediaRange[]>()

export function mediaRanges(accept: string): readonly MediaRange[] {
  const known = rangesOf.get(accept)
  if (known !== undefined) return known
  const ranges = rangesIn(accept)
  if (rangesOf.size >= MOST_ACCEPTS) rangesOf.clear()
  rangesOf.set(accept, ranges)
  return ranges
}

function rangesIn(accept: string): readonly MediaRange[] {
  return accept.split(',').map((clause) => {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim())
    return {
      type: type.toLowerCase(),
      parameters: Object.fromEntries(parameters.map((it) => it.split('=', 2))) as Record<
        string,
        string
      >,
    }
  })
}

export function isJson({ type }: MediaRange): boolean {
  return type === 'application/json' || type === 'application/*' || type === '*/*' || type === ''
}

/** The first form of the Accept header that can be had for an answer of this shape. */
export function formOf(accept: string, query: URLSearchParams, shape: 'one' | 'list'): Form {
  for (const range of mediaRanges(accept)) {
    if (!isJson(range)) continue
    const { as, g, v } = range.parameters
    if (as === undefined) return { type: 'object' }
    if (g !== META || v !== 'v1') continue
    if (as === 'Table') return { type: 'table', include: includeOf(query) }
    const wanted = shape === 'one' ? 'PartialObjectMetadata' : 'PartialObjectMetadataList'
    if (as === wanted) return { type: 'metadata' }
    const subject = shape === 'one' ? 'object' : 'list'
    throw notAcceptable(`you requested ${as}, but the requested object is a ${subject}`)
  }
  throw notAcceptable(AVAILABLE)
}

function includeOf(query: URLSearchParams): 'None' | 'Metadata' | 'Object' {
  const include = query.get('includeObject')
  return include === 'None' || include === 'Object' ? include : 'Metadata'
}

/** The whole answer to a request for one object. */
export function objectText(
  form: Form,
  kind: Kind,
  version: string,
  object: ApiObject,
  nowMs: number,
): string {
  switch (form.type) {
    case 'object':
      return JSON.stringify(told(object, kind, version))
    case 'metadata':
      return metadataText(object)
    case 'table': {
      const { resourceVersion } = object.metadata
      const row = rowText(form.include, kind, version, object, nowMs)
      const head = tableHead(kind, version, JSON.stringify({ resourceVersion }))
      return `${head}${row}]}`
    }
  }
}

/** The text before the items of a list, given its metadata; `]}` closes it. */
export function listHead(form: Form, kind: Kind, version: string, metadata: object): string {
  const meta = JSON.stringify(metadata)
  switch (form.type) {
    case 'object': {
      const apiVersion = kind.group === '' ? version : `${kind.group}/${version}`
      return `{"kind":"${kind.kind}List","apiVersion":"${apiVersion}","metadata":${meta},"items":[`
    }
    case 'metadata':
      return `{"kind":"PartialObjectMetadataList","apiVersion":"${META}/v1","metadata":${meta},"items":[`
    case 'table':
      return tableHead(kind, version, meta)
  }
}

export function itemText(
  form: Form,
  kind: Kind,
  version: string,
  object: ApiObject,
  nowMs: number,
): string {
  switch (form.type) {
    case 'object':
      return JSON.stringify(told(object, kind, version))
    case 'metadata':
      return metadataText(object)
    case 'table':
      return rowText(form.include, kind, version, object, nowMs)
  }
}

function metadataText(object: ApiObject): string {
  const metadata = JSON.stringify(object.metadata)
  return `{"kind":"PartialObjectMetadata","apiVersion":"${META}/v1","metadata":${metadata}}`
}

function tableHead(kind: Kind, version: string, metadata: string): string {
  const columns = columnsOf(kind, version).map(({ name, type, priority }) => {
    return { name, type, format: name === 'Name' ? 'name' : '', description: '', priority }
  })
  return `{"kind":"Table","apiVersion":"${META}/v1","metadata":${metadata},"columnDefinitions":${JSON.stringify(columns)},"rows":[`
}

function rowText(
  include: 'None' | 'Metadata' | 'Object',
  kind: Kind,
  version: string,
  object: ApiObject,
  nowMs: number,
): string {
  const cells = columnsOf(kind, version).map(({ cell }) => cell(object, nowMs) ?? '')
  const text = JSON.stringify(cells)
  if (include === 'None') return `{"cells":${text}}`
  const whole =
    include === 'Object' ? JSON.stringify(told(object, kind, version)) : metadataText(object)
  return `{"cells":${text},"object":${whole}}`
}
