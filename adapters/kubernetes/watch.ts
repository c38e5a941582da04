/**
 * Watches the metadata of a collection, the fields that rules read, and the bodies of what is
 * deleted where they are asked for.
 *
 * What must stay true: events come in the server's order and none is skipped: an event that cannot
 * be read throws, and the events read before it have been returned. Only the server's own end of
 * the stream is an end. No body is kept but that of a deletion.
 *
 * Not here: whether a silent watch is still alive (services/watcher has the timers).
 */
import type { ResourceVersion } from '../../core/model/object.ts'
import type { WatchEvent, Watched } from '../../ports/cluster.ts'
import type { ExchangeResponse } from '../../ports/exchange.ts'
import type { Projection } from '../../ports/record/projection.ts'
import { isObjectOf, isStatus } from './answer.ts'
import { failed, PLAIN, type Reading, refusal, refused, textOf, unreadable } from './call.ts'
import { needsWhole } from './field.ts'
import { isJson, type Json } from './json.ts'
import { readMeta } from './meta.ts'
import { collectionPath } from './path.ts'
import { linesOf } from './stream.ts'

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'

export async function* watchEvents(
  reading: Reading,
  resource: Watched,
  from: ResourceVersion,
  timeoutSeconds: number,
  signal: AbortSignal,
): AsyncGenerator<readonly WatchEvent[]> {
  const query = new URLSearchParams({
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: from,
    timeoutSeconds: String(timeoutSeconds),
  })
  const path = `${collectionPath(resource)}?${query}`
  try {
    const isWhole = resource.whole === true || needsWhole(reading.projection, resource)
    const { body } = await open(reading, path, isWhole ? PLAIN : METADATA, signal)
    for await (const lines of linesOf(body)) {
      yield* batchOf(lines, resource, reading.projection, path)
    }
  } catch (error) {
    throw failed(error, path)
  }
}

async function open(
  reading: Reading,
  path: string,
  accept: string,
  signal: AbortSignal,
): Promise<ExchangeResponse> {
  const headers = { accept }
  const response = await reading.exchange.request(
    { method: 'GET', path, headers, body: null, purpose: 'watch' },
    signal,
  )
  const { status } = response
  if (status === 200 && /^application\/json\b/i.test(response.headers['content-type'] ?? '')) {
    return response
  }
  const text = await textOf(response)
  if (status === 406 && accept !== PLAIN) return await open(reading, path, PLAIN, signal)
  if (status === 200) throw unreadable(path, 'it is no JSON')
  throw refused({ status, headers: response.headers, text }, path, reading.now())
}

/** One batch; the events before one that cannot be read are returned before that throws. */
function* batchOf(
  lines: readonly string[],
  resource: Watched,
  projection: Projection,
  path: string,
): Generator<readonly WatchEvent[]> {
  const events: WatchEvent[] = []
  try {
    for (const line of lines) events.push(readEvent(line, resource, projection, path))
  } catch (error) {
    if (events.length > 0) yield events
    throw error
  }
  yield events
}

function readEvent(
  line: string,
  resource: Watched,
  projection: Projection,
  path: string,
): WatchEvent {
  const event = parsedLine(line, path)
  const { object } = event
  if (!isJson(object)) throw unreadable(path, 'an event has no object')
  switch (event['type']) {
    case 'ADDED':
      return { type: 'Added', object: metaIn(object, resource, projection, path) }
    case 'MODIFIED':
      return { type: 'Modified', object: metaIn(object, resource, projection, path) }
    case 'DELETED':
      return {
        type: 'Deleted',
        object: metaIn(object, resource, projection, path),
        ...(resource.whole === true && object['kind'] === resource.kind && { text: line }),
      }
    case 'BOOKMARK':
      return { type: 'Bookmark', resourceVersion: versionIn(object, resource, path) }
    case 'ERROR':
      throw refusalIn(object, path)
    default:
      throw unreadable(path, 'an event is of no known type')
  }
}

function parsedLine(line: string, path: string): Json {
  let event: unknown
  try {
    event = JSON.parse(line)
  } catch {
    // Without its cause, whose message has a piece of the line.
    throw unreadable(path, 'a line is no JSON')
  }
  if (!isJson(event)) throw unreadable(path, 'a line is no event')
  return event
}

function metaIn(object: Json, resource: Watched, projection: Projection, path: string) {
  const meta = isObjectOf(object, resource) ? readMeta(object, resource, projection) : null
  if (meta === null) throw unreadable(path, 'an event is about no object of this kind')
  return meta
}

function versionIn(object: Json, resource: Watched, path: string): ResourceVersion {
  const { metadata } = object
  const version = isJson(metadata) ? metadata['resourceVersion'] : undefined
  if (!isObjectOf(object, resource) || typeof version !== 'string' || version === '') {
    throw unreadable(path, 'a bookmark has no version')
  }
  return version
}

function refusalIn(object: Json, path: string): Error {
  const code = isStatus(object) ? object['code'] : undefined
  if (typeof code !== 'number') return unreadable(path, 'an error has no code')
  return refusal(code, object, path, null)
}
