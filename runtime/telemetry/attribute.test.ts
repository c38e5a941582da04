/** docs/operate/telemetry.md has each span and each attribute that there is, and no other. */
import { deepEqual } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ATTRIBUTE, SPAN } from './attribute.ts'

const DOCUMENT = join(import.meta.dirname, '..', '..', 'docs', 'operate', 'telemetry.md')

test('what spans are and hold is documented', () => {
  const text = readFileSync(DOCUMENT, 'utf8')
  const first = [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name = '']) => name)
  const attributes = first.filter((name) => name.startsWith('kinfold.'))
  const spans = first.filter((name) => !name.startsWith('kinfold.') && !name.startsWith('OTEL_'))
  deepEqual(attributes.toSorted(), Object.values(ATTRIBUTE).toSorted())
  deepEqual(
    spans.map((name) => name.replace(/ VERB$/, '')).toSorted(),
    Object.values(SPAN).toSorted(),
  )
})
