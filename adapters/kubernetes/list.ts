/**
 * Lists the metadata of a collection, page by page, and whole objects where rules read their
 * fields: those are read at once, and no body is kept.
 *
 * What must stay true: a list is complete and of one version, or it throws; so an object that is
 * missing from one of the whole collection did not exist. Lists are consistent: no resourceVersion
 * is ever asked for, since `0` would return the content of some cache.
 *
 * Not here: the use of a list (services/watcher).
 */
import type { ObjectMeta } from '../../core/model/object.ts'
import { ClusterError, type ListPage, type Resource, type Selection } from '../../ports/cluster.ts'
import type { Connection } from '../../ports/exchange.ts'
import type { Projection } from '../../ports/record/projection.ts'
import { ask, askOver, PLAIN, type Reading, unreadable, type Way } from './call.ts'
import { needsWhole } from './field.ts'
import { isJson, type Json } from './json.ts'
import { readMeta } from './meta.ts'
import { collectionPath } from './path.ts'

/** Whole objects from a server that does not support it; they are stripped at once. */
const METADATA = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'

/** Of whole objects a page has no more: the API server takes some 2 MiB of each. */
const WHOLE_PAGE = 100

export interface Listing {
  readonly way?: Way
  readonly selection?: Selection
  /** Throws where a page does not count. */
  check?(over: Connection | undefined): Promise<void>
}

const EVERYTHING: Selection = { namespace: '', labels: '' }

export async function* listPages(
  reading: Reading,
  resource: Resource,
  pageSize: number,
  signal: AbortSignal,
  { way = { purpose: 'list' }, selection = EVERYTHING, check }: Listing = {},
): AsyncGenerator<ListPage> {
  const { namespace, labels } = selection
  let token = ''
  let version: string | undefined
  do {
    // With each page: rules may change in between.
    const isWhole = needsWhole(reading.projection, resource)
    const limit = isWhole ? Math.min(pageSize, WHOLE_PAGE) : pageSize
    const query = new URLSearchParams({ limit: String(limit) })
    if (labels !== '') query.set('labelSelector', labels)
    if (token !== '') query.set('continue', token)
    const path = `${collectionPath(resource, namespace)}?${query}`
    const accept = isWhole ? PLAIN : METADATA
    const { body, connection } = await askOver(reading, path, accept, signal, way)
    await check?.(connection)
    const page = readPage(body, resource, reading.projection, path)
    version ??= page.resourceVersion
    if (page.resourceVersion !== version) {
      const text = `The pages of GET ${path} are of different versions; list again`
      throw new ClusterError('EXPIRED', text)
    }
    yield page
    const next = continueOf(body)
    if (next !== '' && next === token) {
      throw unreadable(path, 'it goes on where it began, so the list would have no end')
    }
    token = next
  } while (token !== '')
}

export async function versionOfList(
  reading: Reading,
  resource: Resource,
  signal: AbortSignal,
): Promise<string> {
  const path = `${collectionPath(resource)}?limit=1`
  const body = await ask(reading, path, METADATA, signal)
  return readPage(body, resource, reading.projection, path).resourceVersion
}

function readPage(body: Json, resource: Resource, projection: Projection, path: string): ListPage {
  if (!isListOf(body, resource)) throw unreadable(path, 'it is no list of what was asked for')
  const metadata = isJson(body['metadata']) ? body['metadata'] : {}
  const { resourceVersion, remainingItemCount } = metadata
  if (typeof resourceVersion !== 'string' || resourceVersion === '') {
    throw new ClusterError('UNVERSIONED', `The list of GET ${path} has no resourceVersion`)
  }
  const items = body['items'] === null ? [] : body['items']
  if (!Array.isArray(items)) throw unreadable(path, 'the list has no items')
  const isBare = body['kind'] === 'PartialObjectMetadataList'
  const objects = items.map((item): ObjectMeta => {
    const object = readMeta(item, resource, projection, isBare)
    if (object === null) throw unreadable(path, 'an item is no object of this kind')
    return object
  })
  const remaining = typeof remainingItemCount === 'number' ? remainingItemCount : null
  return { objects, resourceVersion, more: continueOf(body) !== '', remaining }
}

/** A custom resource may call its list as it likes, but in its own group and version. */
function isListOf(body: Json, { group, version }: Resource): boolean {
  const { kind, apiVersion } = body
  if (kind === 'PartialObjectMetadataList') return apiVersion === 'meta.k8s.io/v1'
  const own = group === '' ? version : `${group}/${version}`
  return typeof kind === 'string' && kind.endsWith('List') && apiVersion === own
}

function continueOf(body: Json): string {
  const token = isJson(body['metadata']) ? body['metadata']['continue'] : undefined
  return typeof token === 'string' ? token : ''
}
