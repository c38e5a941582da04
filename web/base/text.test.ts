/** Names are shown and copied so that nothing in them is acted on. */
import { equal } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { HOSTILE_NAMES } from '../../testing/hostile.ts'
import { commandsOf } from './command.ts'
import { linkTo, placeOf } from './place.ts'
import { lineOf, shellWord, spanText, timeText } from './text.ts'

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

for (const name of HOSTILE_NAMES) {
  const shown = JSON.stringify(name)

  test(`${shown} is one line that hides nothing`, () => equal(UNSEEN.test(lineOf(name)), false))

  test(`${shown} is one word of a shell, or is not offered`, () => {
    const word = shellWord(name)
    if (word === undefined) return equal(UNSEEN.test(name), true)
    equal(execFileSync('sh', ['-c', `printf %s ${word}`], { encoding: 'utf8' }), name)
  })

  test(`a link leads back to ${shown}`, () => {
    const words = { cluster: name, uid: name }
    const place = placeOf(new URL(linkTo('object', words), 'http://127.0.0.1/').hash)
    // Halves of characters are no text, and in no address.
    const expected = name.isWellFormed()
      ? words
      : { cluster: name.toWellFormed(), uid: name.toWellFormed() }
    equal(JSON.stringify(place), JSON.stringify({ view: 'object', words: expected, unknown: '' }))
  })
}

const NORTH = { scope: 'c-1', name: 'north' }

test('a command names its object, and the uid where the name cannot be typed', () => {
  const object = { group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'web', uid: 'u-1' }
  const why = (more: object): string | undefined =>
    commandsOf({ ...object, isThere: true, ...more }, NORTH).find(({ what }) => what === 'Why')
      ?.text
  equal(why({}), 'kinfold why Deployment.apps/web -n shop --cluster c-1')
  equal(
    why({ name: "a'b; rm -rf" }),
    `kinfold why 'Deployment.apps/a'\\''b; rm -rf' -n shop --cluster c-1`,
  )
  equal(why({ name: 'a\nb' }), 'kinfold why uid:u-1 --cluster c-1')
  equal(why({ isThere: false }), 'kinfold why uid:u-1 --cluster c-1')
  const [live] = commandsOf({ ...object, isThere: true }, NORTH).slice(-1)
  equal(live?.text, 'kubectl get Deployment.apps/web -n shop --context north -o yaml')
  equal(why({ name: 'a\nb', uid: 'a\nb' }), undefined)
})

test('times are in UTC, spans in the unit that is read at once', () => {
  equal(timeText('2026-01-31T09:30:00.123Z'), '2026-01-31 09:30:00 UTC')
  equal(timeText(null), '–')
  const spans = [999, 119_000, 121_000, 7_300_000, 200_000_000].map(spanText)
  equal(spans.join(', '), '1 s, 119 s, 2 min, 2 h, 2 d')
})
