/**
 * An entry of Cloud Logging with a GKE cluster's AuditLog, as the audit event that it was made of.
 *
 * What must stay true: what an entry leaves open is never taken as certain: it has no query, so
 * what may have been a dry run stays a guess; the start of an operation, and a status that is not
 * OK, attribute nothing.
 *
 * Not here: what an audit event says (audit-event.ts), lists of entries (audit-decoder.ts).
 */
import { EVENT } from './audit-event.ts'
import type { Fields, ObjectShape } from './json-projection.ts'

const RESPONSE = EVENT['responseObject'] as ObjectShape

/** LogEntry, and google.cloud.audit.AuditLog within it. */
export const GKE_ENTRY: ObjectShape = {
  ...{ timestamp: 'text', insertId: 'text' },
  resource: { labels: { project_id: 'text', location: 'text', cluster_name: 'text' } },
  operation: { id: 'text', first: 'flag', last: 'flag' },
  protoPayload: {
    ...{ serviceName: 'text', methodName: 'text', resourceName: 'text' },
    authenticationInfo: { principalEmail: 'text' },
    requestMetadata: { callerSuppliedUserAgent: 'text' },
    status: { code: 'number' },
    request: EVENT['requestObject'] as ObjectShape,
    response: { ...RESPONSE, code: 'number' },
  },
}

/** Undefined: an AuditLog of another service. Without its fields it is no audit event. */
export function eventOfEntry({ timestamp, insertId, ...rest }: Fields): Fields | undefined {
  const { id, first, last } = fieldsOf(rest['operation'])
  const audit = fieldsOf(rest['protoPayload'])
  const { serviceName, methodName, request, response } = audit
  if (serviceName !== undefined && serviceName !== 'k8s.io') return undefined
  const verb = typeof methodName === 'string' ? methodName.split('.').at(-1) : undefined
  return {
    stage: first === true && last !== true ? 'RequestReceived' : 'ResponseComplete',
    verb,
    auditID: id ?? insertId,
    userAgent: fieldsOf(audit['requestMetadata'])['callerSuppliedUserAgent'],
    // An entry has no query: without a body it is unknown.
    requestURI: '/?dryRun=',
    requestReceivedTimestamp: timestamp,
    stageTimestamp: timestamp,
    user: { username: fieldsOf(audit['authenticationInfo'])['principalEmail'] },
    objectRef: refOf(audit['resourceName']),
    responseStatus: { code: codeOf(audit) },
    requestObject: request,
    responseObject: response,
  }
}

/** `PROJECT/LOCATION/CLUSTER`, as far as the entry says it. */
export function sourceOfEntry(entry: Fields): string | undefined {
  const labels = fieldsOf(fieldsOf(entry['resource'])['labels'])
  const names = [labels['project_id'], labels['location'], labels['cluster_name']]
  return labels['cluster_name'] === undefined
    ? undefined
    : names.filter((name) => name !== undefined).join('/')
}

/** `core/v1/namespaces/NS/pods/NAME/eviction`, or `core/v1/nodes/NAME`. */
function refOf(name: unknown): Fields {
  if (typeof name !== 'string') return {}
  const [group, , ...path] = name.split('/')
  const isWithin = path[0] === 'namespaces' && path.length > 2
  const [resource, own, subresource, ...more] = isWithin ? path.slice(2) : path
  if (more.length > 0) return {}
  return {
    apiGroup: group === 'core' ? '' : group,
    resource,
    namespace: isWithin ? path[1] : '',
    name: own ?? '',
    subresource,
  }
}

/**
 * `status` has a code of google.rpc.Code: 0, or none, is OK. A refusal may be in the answer only.
 */
function codeOf(audit: Fields): number {
  const rpc = fieldsOf(audit['status'])['code'] ?? 0
  const http = fieldsOf(audit['response'])['code']
  if (rpc !== 0) return 500
  return typeof http === 'number' ? http : 200
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
