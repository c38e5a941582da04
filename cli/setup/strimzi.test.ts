/**
 * What `kinfold topics print` prints has the rights of docs/operate/kafka.md, and the settings that
 * `kinfold topics plan` asks for.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { allTopicNames } from '../../adapters/kafka/protocol/topic-name.ts'
import { configOf } from '../../adapters/kafka/topics.ts'
import type { Permission } from '../../testing/kafka/acl.ts'
import { documentedAcls } from '../../testing/kafka/documented-acls.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'

interface Acl {
  readonly resource: { readonly type: string; readonly name: string; readonly patternType: string }
  readonly operations: readonly string[]
}

interface Resource {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> }
  readonly spec: {
    readonly topicName: string
    readonly partitions: number
    readonly config: object
    readonly authorization: { readonly acls: readonly Acl[] }
  }
}

const CONSTANTS = { topic: 'TOPIC', group: 'GROUP', transactionalId: 'TRANSACTIONAL_ID' } as const

function permissionOf(user: string, { resource, operations }: Acl): string {
  const { type, name, patternType } = resource
  const permission: Permission = {
    user,
    on: CONSTANTS[type as keyof typeof CONSTANTS],
    name: patternType === 'prefix' ? `${name}*` : name,
    operations: operations.map(
      (each) => each.replace(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase() as 'READ',
    ),
  }
  return JSON.stringify(permission)
}

test('kinfold topics print gives each topic its settings and each service the documented rights', async () => {
  const args = ['--application', 'house', '--cluster', 'events', '--partitions', '4']
  const { code, stdout, stderr } = await runKinfold(['topics', 'print', '-o', 'strimzi', ...args])
  deepEqual({ code, stderr }, { code: 0, stderr: '' })
  const all = parseAllDocuments(stdout).map((each) => each.toJS() as Resource)
  for (const { metadata } of all) equal(metadata.labels['strimzi.io/cluster'], 'events')

  const topics = all.filter(({ kind }) => kind === 'KafkaTopic')
  deepEqual(
    topics.map(({ spec }) => spec.topicName),
    allTopicNames('house'),
  )
  for (const { spec } of topics) {
    const name = spec.topicName.slice('house.'.length)
    deepEqual(spec.config, configOf(name as never, 3))
    const isSingle = ['orders', 'control', 'watermarks', 'actors'].includes(name)
    equal(spec.partitions, isSingle ? 1 : 4, name)
  }

  const users = all.filter(({ kind }) => kind === 'KafkaUser')
  const printed = users.flatMap(({ metadata, spec }) =>
    spec.authorization.acls.map((acl) => permissionOf(metadata.name.slice('house-'.length), acl)),
  )
  const documented = documentedAcls('house').filter(({ user }) => user !== 'admin')
  deepEqual(
    printed.toSorted(),
    documented
      .map(({ user, on, name, operations }) => JSON.stringify({ user, on, name, operations }))
      .toSorted(),
  )
})
