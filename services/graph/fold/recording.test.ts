/**
 * The fold decides as its version is recorded to (testing/fold-recordings): byte for byte, in every
 * story. Where it does not, logs that this version wrote would be folded otherwise by this program,
 * and two processes of one log would not agree (F99).
 */
import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { FOLD_VERSION } from '../../../core/model/policy.ts'
import {
  isOut,
  isReleased,
  type RecordedEvent,
  readRecording,
  refolded,
  schemasNow,
} from '../../../testing/fold-recording.ts'

const recording = readRecording(FOLD_VERSION)
const REMEDY = isOut(FOLD_VERSION)
  ? `version ${FOLD_VERSION} is released: raise FOLD_VERSION (docs/operate/upgrades.md)`
  : `version ${FOLD_VERSION} is not released yet: if that is meant, run "npm run record-fold"`

test('the fold decides what its version is recorded to decide, in every story', async () => {
  ok(recording !== undefined, `nothing is recorded of version ${FOLD_VERSION}: ${REMEDY}`)
  ok(recording.stories.length > 150)
  const otherwise: string[] = []
  for (const { name, events, state, outputs } of recording.stories) {
    const now = await refolded(events).catch((error: unknown) => ({ state: `${error}`, outputs }))
    if (now.state !== state) otherwise.push(`${name}: its state`)
    if (now.outputs !== outputs) otherwise.push(`${name}: its commands`)
  }
  deepEqual(otherwise, [], `other bytes than recorded; ${REMEDY}`)
})

test('every record is written by the schema that its version of the fold is recorded with', () => {
  deepEqual(schemasNow(), recording?.schemas, `other schemas than recorded; ${REMEDY}`)
})

test('a story that came a millisecond later, or without an event, is not as recorded', async () => {
  const story = recording!.stories.find(({ name }) => name === 'protected-by-directive')!
  const { state, outputs } = story
  const last = story.events.length - 1
  const later = story.events.map(([at, bytes], index): RecordedEvent => {
    return [index === last ? at + 1 : at, bytes]
  })
  ok((await refolded(later)).state !== state)
  const without = await refolded(story.events.slice(0, -1))
  ok(without.state !== state || without.outputs !== outputs)
})

test('a version is released with the release that its row names', () => {
  const rows =
    '| Version | Release | … |\n|---|---|---|\n| 16 | 0.2.0 | … |\n| 15 | 0.1.0 | … |\n| 14 | – | … |\n'
  const changelog = '# Changelog\n\n## 0.2.0, not released yet\n\n## 0.1.0, 2027-01-01\n'
  equal(isReleased(16, rows, changelog), false)
  equal(isReleased(15, rows, changelog), true)
  equal(isReleased(14, rows, changelog), false)
  throws(() => isReleased(17, rows, changelog), /no row of version 17/)
  throws(() => isReleased(16, rows, '# Changelog\n'), /no release 0\.2\.0/)
})
