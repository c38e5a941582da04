/**
 * Canonical form and fingerprint are those of the Avro specification, by its own published
 * examples.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ComplexSchema,
  canonicalForm,
  fingerprintOf,
  type Schema,
  standalone,
} from './schema.ts'

// From the Avro project's share/test/data/schema-tests.txt: schema, canonical form, fingerprint as
// a signed number.
const EXAMPLES: readonly (readonly [string, string, bigint])[] = [
  ['"null"', '"null"', 7195948357588979594n],
  ['{"type":"boolean"}', '"boolean"', -6970731678124411036n],
  ['"int"', '"int"', 8247732601305521295n],
  ['{"type":"long"}', '"long"', -3434872931120570953n],
  ['"float"', '"float"', 5583340709985441680n],
  ['"double"', '"double"', -8181574048448539266n],
  ['"bytes"', '"bytes"', 5746618253357095269n],
  ['"string"', '"string"', -8142146995180207161n],
  ['[]', '[]', -1241056759729112623n],
  ['["int"]', '["int"]', -5232228896498058493n],
  ['["int",{"type":"boolean"}]', '["int","boolean"]', 5392556393470105090n],
  [
    '{"fields":[],"type":"record","name":"foo","namespace":"x.y"}',
    '{"name":"x.y.foo","type":"record","fields":[]}',
    5916914534497305771n,
  ],
  [
    '{"fields":[],"type":"record","name":"a.b.foo","namespace":"x.y"}',
    '{"name":"a.b.foo","type":"record","fields":[]}',
    -4616218487480524110n,
  ],
  [
    '{"fields":[],"type":"record","name":"foo","doc":"foo","aliases":["foo","bar"]}',
    '{"name":"foo","type":"record","fields":[]}',
    -4824392279771201922n,
  ],
  [
    '{"fields":[{"type":"boolean","aliases":[],"name":"f1","default":true},{"order":"descending","name":"f2","doc":"Hello","type":"int"}],"type":"record","name":"foo"}',
    '{"name":"foo","type":"record","fields":[{"name":"f1","type":"boolean"},{"name":"f2","type":"int"}]}',
    -4860222112080293046n,
  ],
  [
    '{"namespace":"x.y.z","type":"enum","name":"foo","doc":"foo bar","symbols":["A1","A2"]}',
    '{"name":"x.y.z.foo","type":"enum","symbols":["A1","A2"]}',
    -4448647247586288245n,
  ],
  [
    '{"namespace":"x.y.z","type":"fixed","name":"foo","doc":"foo bar","size":32}',
    '{"name":"x.y.z.foo","type":"fixed","size":32}',
    -3064184465700546786n,
  ],
  [
    '{"items":{"type":"null"},"type":"array"}',
    '{"type":"array","items":"null"}',
    -589620603366471059n,
  ],
  ['{"values":"string","type":"map"}', '{"type":"map","values":"string"}', -8732877298790414990n],
  [
    '{"name":"PigValue","type":"record","fields":[{"name":"value","type":["null","int","long","PigValue"]}]}',
    '{"name":"PigValue","type":"record","fields":[{"name":"value","type":["null","int","long","PigValue"]}]}',
    -1759257747318642341n,
  ],
]

for (const [text, canonical, fingerprint] of EXAMPLES) {
  test(`the canonical form and fingerprint of ${text} are Avro's`, () => {
    const schema = JSON.parse(text) as Schema
    equal(canonicalForm(schema), canonical)
    equal(fingerprintOf(schema), BigInt.asUintN(64, fingerprint).toString(16).padStart(16, '0'))
  })
}

test('the fingerprint of "int" is written as in the specification', () => {
  equal(fingerprintOf('int'), '7275d51a3f395c8f')
})

test('a standalone schema has each named type once, where it is first named, and a full name after', () => {
  const pair: ComplexSchema = { type: 'record', name: 'Pair', namespace: 'n', fields: [] }
  const schema = {
    type: 'record',
    name: 'Top',
    namespace: 'n',
    fields: [
      { name: 'a', type: ['null', 'Pair'] },
      { name: 'b', type: { type: 'array', items: 'n.Pair' } },
    ],
  }
  const asked: string[] = []
  const written = standalone(schema, (name) => {
    asked.push(name)
    return pair
  })
  deepEqual(asked, ['n.Pair'])
  deepEqual(written, {
    ...schema,
    fields: [
      { name: 'a', type: ['null', pair] },
      { name: 'b', type: { type: 'array', items: 'n.Pair' } },
    ],
  })
})
