/**
 * Shows that what is not known of a protobuf body is refused and never dropped. That the rest is
 * right, kubectl shows (kubectl.cluster.test.ts).
 */
import { deepEqual, throws } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { jsonFromProtobuf, ProtobufError } from './protobuf.ts'

const MAGIC = Buffer.from('k8s\0')

function bytes(field: number, value: Uint8Array | string): Buffer {
  const content = Buffer.from(value)
  return Buffer.concat([Buffer.from([(field << 3) | 2, content.length]), content])
}

function envelope(kind: string, ...fields: readonly Buffer[]): Buffer {
  const type = Buffer.concat([bytes(1, 'v1'), bytes(2, kind)])
  return Buffer.concat([MAGIC, bytes(1, type), bytes(2, Buffer.concat(fields))])
}

suite('a protobuf body', () => {
  test('becomes JSON, without the empty fields that Go writes', () => {
    const labels = bytes(11, Buffer.concat([bytes(1, 'a'), bytes(2, 'b')]))
    const metadata = bytes(1, Buffer.concat([bytes(1, 'it'), bytes(2, ''), labels]))
    const data = bytes(2, Buffer.concat([bytes(1, 'k'), bytes(2, 'v')]))
    deepEqual(JSON.parse(jsonFromProtobuf(envelope('ConfigMap', metadata, data))), {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'it', labels: { a: 'b' } },
      data: { k: 'v' },
    })
  })

  test('keeps a zero where it is a value', () => {
    const spec = bytes(2, Buffer.from([1 << 3, 0, 5 << 3, 0]))
    const { spec: read } = JSON.parse(jsonFromProtobuf(envelope('Deployment', spec)))
    deepEqual(read, { replicas: 0 })
  })

  const refused: readonly [string, Buffer][] = [
    ['of a kind that is not known', envelope('Widget')],
    ['with a field that is not known', envelope('ConfigMap', bytes(9, 'x'))],
    ['that is cut', envelope('ConfigMap', bytes(1, 'x').subarray(0, 2))],
    ['without the magic number', Buffer.from('{}')],
  ]
  for (const [what, body] of refused) {
    test(`${what} is refused`, () => {
      throws(() => jsonFromProtobuf(body), ProtobufError)
    })
  }
})
