/**
 * A watch on a kind that never changes leaves nothing behind: not with each bookmark, not at its
 * end.
 */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../clock.ts'
import { Collection } from '../collection.ts'
import { Bell } from './bell.ts'

const MINUTE_MS = 60_000

test('a quiet kind is listened to once, however many bookmarks its watch gets', async () => {
  const clock = new ManualClock()
  const collection = new Collection(10, 1)
  const stop = new AbortController()
  const context = { clock, random: { next: () => 0 }, bookmarkMs: MINUTE_MS }
  const query = new URLSearchParams({ allowWatchBookmarks: 'true', timeoutSeconds: '6000' })
  let bookmarks = 0
  const watching = (async () => {
    await using bell = new Bell(context, query, stop.signal).started()
    while (!bell.isOver && !stop.signal.aborted) {
      if (bell.takeBookmark()) bookmarks++
      else await bell.rung(collection)
    }
  })()
  await clock.advance(50 * MINUTE_MS)
  equal(bookmarks, 50)
  equal(collection.listening, 1)
  stop.abort()
  await watching
  equal(collection.listening, 0)
  equal(clock.sleeping, 0)
})
