/**
 * WATCH: the changes after a version, line by line, with bookmarks, until the time is up.
 *
 * What must stay true: nothing is skipped. For a version that the history no longer reaches, and a
 * reader that it has left behind, the watch gets an error or ends. A version in the future is
 * answered with silence, as by the real server.
 *
 * Not here: the history (collection.ts).
 */

import { type Change, type Collection, keysOf, type Stored } from '../collection.ts'
import { groupVersion } from '../kind.ts'
import type { ApiObject } from '../object.ts'
import type { Snapshot } from '../ordered-index.ts'
import { type Call, isTrue } from '../request.ts'
import { invalid, Refusal, tooOld } from '../status.ts'
import { type Storage, withMetadata } from '../storage.ts'
import { Bell, type BellContext } from './bell.ts'
import { versionIn } from './read.ts'
import { type Form, objectText } from './representation.ts'
import { selectorIn } from './selector.ts'

/** Changes sent in one chunk. */
const BATCH = 256
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end'
const OPTIONS = { kind: 'ListOptions', group: 'meta.k8s.io' }

export interface WatchContext extends BellContext {
  readonly storage: Storage
}

/** Refuses by throwing, before anything is sent; later changes are part of the stream. */
export function openWatch(
  context: WatchContext,
  call: Call,
  form: Form,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { query } = call
  const sendInitial = query.get('sendInitialEvents')
  if (isTrue(sendInitial) && query.get('resourceVersionMatch') !== 'NotOlderThan') {
    const message =
      'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'
    const field = 'resourceVersionMatch'
    throw invalid(OPTIONS, '', [{ reason: 'FieldValueForbidden', message, field }])
  }
  const given = query.get('resourceVersion') || '0'
  const from = versionIn(given)
  if (from === undefined) {
    const why = `resourceVersion: Invalid value: "${given}": strconv.ParseUint: parsing "${given}": invalid syntax`
    throw new Refusal(500, why)
  }
  // Without a version to begin from the present state comes first.
  const isInitial = sendInitial === null ? from === 0 : isTrue(sendInitial)
  const { storage } = context
  const collection = storage.collection(call.kind)
  const teller = new Teller(context, call, form)
  if (!isInitial && from < collection.oldest) return teller.refusal(tooOld(from, collection.oldest))
  const present = isInitial ? collection.snapshot() : undefined
  const version = isInitial ? storage.version : from
  const cursor = collection.cursorAfter(version)
  const start = { from: version, cursor, present, isMarked: isTrue(sendInitial) }
  return stream(context, collection, teller, start, new Bell(context, query, signal), signal)
}

interface Start {
  /** Nothing older is sent. */
  readonly from: number
  readonly cursor: number
  /** Sent first, as additions. */
  readonly present: Snapshot<Stored> | undefined
  /** The end of the present objects is marked by a bookmark. */
  readonly isMarked: boolean
}

async function* stream(
  { storage }: WatchContext,
  collection: Collection,
  teller: Teller,
  { from, cursor: start, present, isMarked }: Start,
  timing: Bell,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  await using bell = timing.started()
  let cursor = start
  if (present !== undefined) yield* teller.present(present)
  if (present !== undefined && isMarked) {
    yield teller.bookmark(from, { [INITIAL_EVENTS_END]: 'true' })
  }
  while (!bell.isOver) {
    signal.throwIfAborted()
    const changes = collection.changesFrom(cursor, BATCH)
    if (changes === undefined) return
    if (changes.length > 0) {
      cursor += changes.length
      const text = teller.changes(changes, from)
      if (text !== '') yield Buffer.from(text)
    } else if (collection.closed) {
      return
    } else if (bell.takeBookmark()) {
      if (storage.version >= from) yield teller.bookmark(storage.version)
    } else {
      // Nothing may be awaited between the read of the history and this, or a change in between
      // would wake no watch.
      await bell.rung(collection)
    }
  }
}

/** Puts changes into words for one watch. */
class Teller {
  readonly #context: WatchContext
  readonly #call: Call
  readonly #form: Form
  readonly #gte: string
  readonly #lt: string
  readonly #matches: (object: ApiObject) => boolean

  constructor(context: WatchContext, call: Call, form: Form) {
    this.#context = context
    this.#call = call
    this.#form = form
    const { namespace, name } = call.address
    ;[this.#gte, this.#lt] = keysOf(namespace)
    const selector = selectorIn(call.query, call.kind)
    this.#matches = ({ metadata }) => {
      return (
        (namespace === '' || metadata.namespace === namespace) &&
        (name === '' || metadata.name === name)
      )
    }
    if (selector !== undefined) {
      const isInPlace = this.#matches
      this.#matches = (object) => isInPlace(object) && selector(object)
    }
  }

  *present(snapshot: Snapshot<Stored>): Generator<Uint8Array, void, undefined> {
    let text = ''
    let count = 0
    for (const { object } of snapshot.range(this.#gte, this.#lt)) {
      if (!this.#matches(object)) continue
      text += this.#line('ADDED', object)
      if (++count % BATCH > 0) continue
      yield Buffer.from(text)
      text = ''
    }
    if (text !== '') yield Buffer.from(text)
  }

  /** Empty when none of them concerns this watch. */
  changes(changes: readonly Change[], after: number): string {
    let text = ''
    for (const { type, version, object, before } of changes) {
      if (version <= after) continue
      const wasIn = before !== undefined && this.#matches(before)
      // A change of labels may bring an object into the selection or take it out.
      const isIn = type !== 'DELETED' && this.#matches(object)
      if (isIn) text += this.#line(wasIn ? 'MODIFIED' : 'ADDED', object)
      else if (wasIn) {
        const resourceVersion = String(version)
        text += this.#line(
          'DELETED',
          type === 'DELETED' ? object : withMetadata(before, { resourceVersion }),
        )
      }
    }
    return text
  }

  bookmark(version: number, annotations?: Readonly<Record<string, string>>): Uint8Array {
    const { kind, address } = this.#call
    const metadata = { resourceVersion: String(version), ...(annotations && { annotations }) }
    const object = { kind: kind.kind, apiVersion: groupVersion(kind, address.version), metadata }
    return Buffer.from(this.#line('BOOKMARK', object as unknown as ApiObject))
  }

  async *refusal(refusal: Refusal): AsyncGenerator<Uint8Array, void, undefined> {
    yield Buffer.from(`${JSON.stringify({ type: 'ERROR', object: refusal.status() })}\n`)
  }

  #line(type: string, object: ApiObject): string {
    const { kind, address } = this.#call
    const now = this.#context.clock.now()
    return `{"type":"${type}","object":${objectText(this.#form, kind, address.version, object, now)}}\n`
  }
}
