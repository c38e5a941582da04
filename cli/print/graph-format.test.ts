/**
 * Formats of other programs: what is exported comes back whole, and no name gets out of its quotes.
 */
import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { type ExportedObject, FORMATS, type FormatName } from './graph-format.ts'

const CLUSTER = { name: 'north', id: 'c' }

function object(name: string, uid: string, owners: ExportedObject['owners'] = []): ExportedObject {
  const times = { createdAt: '2026-01-01T00:00:00.000Z', deletedAt: null }
  const kind = { group: '', version: 'v1', kind: 'ConfigMap' }
  return {
    ...{ cluster: CLUSTER, ...kind, namespace: 'shop', name, uid, phase: 'observed' },
    ...{ ...times, why: '', owners },
  }
}

function owner(name: string, uid: string, standing = 'solid'): ExportedObject['owners'][number] {
  const how = { controller: true, blocking: false, standing }
  return { apiVersion: 'v1', kind: 'ConfigMap', name, uid, ...how }
}

function written(format: FormatName, objects: readonly ExportedObject[]): string {
  return [...FORMATS[format](objects)].join('')
}

const TREE = [
  object('web', '1'),
  object('settings', '2', [owner('web', '1'), owner('gone', '9', 'dangling')]),
]

test('jsonl: an object a line, as it is', () => {
  const lines = written('jsonl', TREE).trimEnd().split('\n')
  deepEqual(
    lines.map((line) => JSON.parse(line)),
    TREE,
  )
})

test('csv: a row for each reference, and one for what has none', () => {
  const [head, ...rows] = written('csv', TREE).trimEnd().split('\n')
  const columns = head?.split(',') ?? []
  const of = (row: string, column: string): unknown => row.split(',')[columns.indexOf(column)]
  deepEqual(
    rows.map((row) => ['name', 'owner_name', 'owner_status'].map((column) => of(row, column))),
    [
      ['web', '', ''],
      ['settings', 'web', 'solid'],
      ['settings', 'gone', 'dangling'],
    ],
  )
  for (const row of rows) equal(row.split(',').length, columns.length)
})

test('cypher: each object and each reference once, also to an owner that is not there', () => {
  const text = written('cypher', TREE)
  equal(text.match(/^MERGE \(o:/gm)?.length, 2)
  match(
    text,
    /MATCH \(a:.* "c\/2"\}\) MERGE \(b:.* "c\/9\/ConfigMap\/gone"\}\) ON CREATE SET .*"dangling";\n$/,
  )
})

test('dot, mermaid, graphml: an owner that is not among the objects is a node of its own', () => {
  match(
    written('dot', TREE),
    /"c\/9\/ConfigMap\/gone" \[label="ConfigMap\/gone north", style=dashed\]/,
  )
  match(
    written('dot', TREE),
    /"c\/1" -> "c\/2"\n {2}"c\/9\/ConfigMap\/gone" -> "c\/2" \[label="dangling"\]/,
  )
  match(written('mermaid', TREE), /o2\["ConfigMap\/gone north"\]:::missing\n {2}o0 --> o1\n/)
  match(
    written('graphml', TREE),
    /<node id="c\/9\/ConfigMap\/gone">.*<edge source="c\/2" target="c\/1">/s,
  )
})

test('a reference to a uid by another name is to something else, in every format', () => {
  const secret = { ...object('real', '1'), kind: 'Secret' }
  const references = [{ ...owner('real', '1'), kind: 'Secret' }, owner('other', '1', 'dangling')]
  const objects = [secret, object('pod', '2', references)]
  equal(written('cypher', objects).match(/MERGE \(a\)-\[r:OWNED_BY \{/g)?.length, 2)
  match(written('dot', objects), /"c\/1" -> "c\/2"\n {2}"c\/1\/ConfigMap\/other" -> "c\/2" \[/)
  match(written('graphml', objects), /target="c\/1">.*target="c\/1\/ConfigMap\/other">/s)
  match(written('mermaid', objects), /o0 --> o1\n {2}o2 -->\|dangling\| o1\n/)
})

test('csv: a text that a spreadsheet would calculate is none', () => {
  const text = written('csv', [object('pod', '2', [owner('=1+1', '@SUM(1)')])])
  match(text, /,'=1\+1,'@SUM\(1\),/)
})

const HOSTILE = `"]\\ x</data>\n<script>;--#\`'),=1\u0000\u001b[31m\ud800`

test('whatever an object is called stays within its quotes', () => {
  const plain = [object('plain', '1'), object('other', '2', [owner('stranger', '3')])]
  const hostile = [object(HOSTILE, '1'), object(HOSTILE, '2', [owner(HOSTILE, '3')])]
  /** What is left without quoted texts is the same for both. */
  const bones: Readonly<Record<FormatName, (text: string) => string>> = {
    jsonl: (text) => text.replace(/"(\\.|[^"\\])*"/g, '""'),
    csv: (text) => text.replace(/"(""|[^"])*"|\b(plain|other|stranger)\b/g, '""'),
    cypher: (text) => text.replace(/"(\\.|[^"\\])*"/g, '""'),
    dot: (text) => text.replace(/"(\\.|[^"\\])*"/g, '""'),
    mermaid: (text) => text.replace(/"[^"]*"/g, '""'),
    graphml: (text) => text.replace(/"[^"]*"/g, '""').replace(/>[^<]*</g, '><'),
  }
  for (const [format, of] of Object.entries(bones) as [FormatName, (text: string) => string][]) {
    equal(of(written(format, hostile)), of(written(format, plain)), format)
    if (format !== 'csv') doesNotMatch(written(format, hostile), /(?!\n)\p{Cc}/u, format)
  }
  ok(!written('mermaid', hostile).includes('<script>'))
})

for (const begin of [
  '=',
  '+',
  '-',
  '@',
  '\t',
  '\r',
  '\n',
  '\u0000',
  '\uff1d',
  '\uff0b',
  '\uff0d',
  '\uff20',
  ' =',
  '\u200b=',
  '\n\uff1d',
]) {
  test(`T23: a CSV cell that begins with ${JSON.stringify(begin)} is a text`, () => {
    const value = `${begin}1+1`
    const text = written('csv', [object('pod', '2', [owner(value, '9')])])
    ok(text.includes(`'${value}`))
  })
}
