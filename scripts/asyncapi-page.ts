/**
 * docs/integrate/asyncapi.json: the public topics, `lineage` and `history`, as AsyncAPI 3 has them,
 * with the schemas that are written today, which are in schemas/public, too.
 *
 * What must stay true: it contains nothing that is not in the code (pages.ts). Topics that are
 * Kinfold's own are not in it: they may change with any release.
 */
import { recordSchemas } from '../adapters/avro/codec.ts'
import { fingerprintOf, type Schema } from '../adapters/avro/schema.ts'
import { DELETE_RETENTION_MS } from '../adapters/kafka/topics.ts'
import { VERSION } from '../cli/print/version.ts'
import { COMPACTED } from '../ports/log.ts'
import { CLOUD_EVENT_CONTENT_TYPE, CLOUD_EVENT_TYPE } from '../services/graph/cloud-events.ts'

const CHANNELS = [
  {
    topic: 'lineage',
    type: 'Lineage',
    summary:
      'The present state of each object; the last entry of a key is the whole truth about it, a null value its end.',
  },
  {
    topic: 'history',
    type: 'History',
    summary:
      'One entry for each change that matters: owners, verdicts, commands and their results.',
  },
] as const

export function asyncApi(): string {
  const document = {
    asyncapi: '3.0.0',
    info: {
      title: 'Kinfold',
      version: VERSION,
      description:
        'What anybody may consume of the record of owners. How to read it, with examples: docs/integrate/consumers.md.',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: CLOUD_EVENT_CONTENT_TYPE,
    servers: {
      kafka: {
        host: '{broker}',
        protocol: 'kafka',
        description: 'Read committed entries only (isolation.level=read_committed).',
        variables: { broker: { default: 'localhost:9092' } },
      },
    },
    channels: Object.fromEntries(CHANNELS.map((each) => [each.topic, channelOf(each)])),
    operations: Object.fromEntries(
      CHANNELS.map(({ topic, summary }) => [topic, operationOf(topic, summary)]),
    ),
    components: {
      messages: Object.fromEntries(CHANNELS.map((each) => [each.type, messageOf(each)])),
    },
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

type Channel = (typeof CHANNELS)[number]

/**
 * schemas/public: each public record in one file with all the records in it, for consumers, who
 * need not know of which those are.
 */
export function publicSchemas(): readonly { readonly file: string; readonly text: string }[] {
  return CHANNELS.map(({ topic, type }) => ({
    file: `schemas/public/${topic}.avsc`,
    text: `${JSON.stringify(schemaOf(type), null, 2)}\n`,
  }))
}

function schemaOf(type: Channel['type']): Schema {
  const [record] = recordSchemas([type])
  if (record === undefined) throw new Error(`no schema of ${type}`)
  return record.current
}

function channelOf({ topic, type, summary }: Channel): object {
  const isCompacted = COMPACTED.has(topic)
  return {
    address: `{application}.${topic}`,
    description: summary,
    parameters: {
      application: { default: 'kinfold', description: 'As --application of the services.' },
    },
    messages: { [type]: { $ref: `#/components/messages/${type}` } },
    bindings: {
      kafka: {
        topicConfiguration: {
          'cleanup.policy': [isCompacted ? 'compact' : 'delete'],
          ...(isCompacted && { 'delete.retention.ms': DELETE_RETENTION_MS }),
        },
        bindingVersion: '0.5.0',
      },
    },
  }
}

function operationOf(topic: string, summary: string): object {
  return { action: 'send', channel: { $ref: `#/channels/${topic}` }, summary }
}

function messageOf({ topic, type, summary }: Channel): object {
  const schema = schemaOf(type)
  return {
    name: type,
    title: type,
    summary,
    description: `In Avro's single-object encoding: C3 01, the schema's fingerprint in 8 bytes (${fingerprintOf(schema)} as a number, little-endian), the body. With a schema registry in Confluent's frame: 00, 4 bytes of id, the body.`,
    contentType: CLOUD_EVENT_CONTENT_TYPE,
    headers: headersOf(topic, type),
    payload: { schemaFormat: 'application/vnd.apache.avro;version=1.9.0', schema },
    bindings: {
      kafka: {
        key: {
          type: 'string',
          description: 'CLUSTER/UID: the uid of the namespace kube-system, and that of the object.',
        },
        bindingVersion: '0.5.0',
      },
    },
  }
}

/**
 * None is required: they are there where `--cloud-events` asks for them, and of a null value some
 * are not.
 */
function headersOf(topic: string, type: Channel['type']): object {
  const types = [
    CLOUD_EVENT_TYPE[type],
    ...(type === 'Lineage' ? [CLOUD_EVENT_TYPE.forgotten] : []),
  ]
  const reference = { type: 'string', format: 'uri-reference' }
  return {
    type: 'object',
    description: `CloudEvents 1.0 in binary mode, where kinfold graph has --cloud-events; else ${topic} has none.`,
    properties: {
      ce_specversion: { const: '1.0' },
      ce_id: {
        type: 'string',
        minLength: 1,
        description:
          'PARTITION-POSITION/UID, and what tells entries of one event and object apart.',
      },
      ce_source: { ...reference, description: '/applications/APPLICATION/clusters/CLUSTER' },
      ce_type: { enum: types },
      ce_time: { type: 'string', format: 'date-time' },
      ce_subject: {
        type: 'string',
        description: 'KIND[.GROUP]/[NAMESPACE/]NAME, percent-encoded.',
      },
      ce_dataschema: { type: 'string', format: 'uri', description: 'With a schema registry.' },
      'content-type': { const: CLOUD_EVENT_CONTENT_TYPE },
    },
  }
}
