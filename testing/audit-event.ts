/**
 * Events of an audit log for tests, as kube-apiserver writes them at level Metadata. What must stay
 * true: each field is one that a real server sends.
 */
import {
  AuditDecoder,
  type Decoding,
  type Unreadable,
} from '../services/graph/actors/audit-decoder.ts'
import { API_VERSION, type Asked } from '../services/graph/actors/audit-event.ts'

export type AuditFields = Readonly<Record<string, unknown>>

/** A DELETE of a ConfigMap that was answered at `at`; `more` replaces fields. */
export function auditEvent(name: string, at: number, more: AuditFields = {}): AuditFields {
  const time = new Date(at).toISOString().replace('Z', '123Z')
  return {
    level: 'Metadata',
    auditID: `id-${name}`,
    stage: 'ResponseComplete',
    requestURI: `/api/v1/namespaces/ns/configmaps/${name}`,
    verb: 'delete',
    user: { username: 'alice', groups: ['developers', 'system:authenticated'] },
    sourceIPs: ['10.0.0.7'],
    userAgent: 'kubectl/v1.33.0 (linux/amd64) kubernetes/60a317e',
    objectRef: { resource: 'configmaps', namespace: 'ns', name, apiVersion: 'v1' },
    responseStatus: { metadata: {}, status: 'Success', code: 200 },
    requestReceivedTimestamp: time,
    stageTimestamp: time,
    annotations: { 'authorization.k8s.io/decision': 'allow' },
    ...more,
  }
}

export function eventList(...items: readonly unknown[]): AuditFields {
  return { kind: 'EventList', apiVersion: API_VERSION, metadata: {}, items }
}

export interface Decoded {
  readonly decoder: AuditDecoder
  readonly asked: readonly Asked[]
  readonly unreadable: readonly Unreadable[]
}

/** All of it, in parts of so many bytes. */
export async function decoded(
  text: string | Buffer,
  size: number = 65_536,
  decoding: Decoding = {},
): Promise<Decoded> {
  const asked: Asked[] = []
  const unreadable: Unreadable[] = []
  const decoder = new AuditDecoder((found) => {
    if (found?.type === 'Actor') asked.push(found)
    if (found?.type === 'Unreadable') unreadable.push(found)
  }, decoding)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) {
    for await (const _ of decoder.read(bytes.subarray(at, at + size)));
  }
  decoder.end()
  return { decoder, asked, unreadable }
}
