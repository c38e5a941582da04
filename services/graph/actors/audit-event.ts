/**
 * What an event of an API server's audit log says about who asked for a deletion.
 *
 * What must stay true: whatever such an event holds, what is kept of it is what `Actor` has, each
 * text no longer than its bound; an event that proves no deletion is left out: of a stage before
 * the answer, of a request that was refused, of a dry run.
 *
 * Not here: reading lists of them (audit-decoder.ts), which deletion it was
 * (query/answer/actor.ts).
 */
import type { Actor, DeletionVerb } from '../../../ports/record/service-record.ts'
import { CUT, type Fields, type ObjectShape } from './json-projection.ts'

/** The version that API servers and other senders of lists write. */
export const API_VERSION = 'audit.k8s.io/v1'

/** Who asked, without the cluster: an event does not name it. */
export type Asked = Omit<Actor, 'cluster'>

/** Lengths of texts that are cut, in UTF-16 units: a client of the API server chooses them. */
const LONGEST = { user: 256, agent: 128, auditId: 64 }
/** Of names: nothing that a server stores has a longer one. */
const LONGEST_NAME = 253
/** The last time that keys of the index have room for: in the year 2286. */
export const LAST_MS: number = 9_999_999_999_999

const PRECONDITIONS: ObjectShape = { uid: 'text' }

/** All that is read of an event: a client of the API server chooses how large the rest is. */
export const EVENT: ObjectShape = {
  ...{
    level: 'text',
    stage: 'text',
    verb: 'text',
    auditID: 'text',
    userAgent: 'text',
    requestURI: 'text',
  },
  ...{ requestReceivedTimestamp: 'text', stageTimestamp: 'text' },
  user: { username: 'text' },
  impersonatedUser: { username: 'text' },
  objectRef: {
    ...{ apiGroup: 'text', resource: 'text', subresource: 'text' },
    ...{ namespace: 'text', name: 'text', uid: 'text' },
  },
  // At level Metadata it has the uid of what was removed at once.
  responseStatus: { code: 'number', details: { uid: 'text' } },
  // DeleteOptions, or an Eviction that has them.
  requestObject: {
    ...{ kind: 'text', dryRun: 'count', preconditions: PRECONDITIONS },
    deleteOptions: { dryRun: 'count', preconditions: PRECONDITIONS },
  },
  responseObject: { details: { uid: 'text' }, metadata: { uid: 'text' } },
}

/** An event that says no more than that: what an import sends. */
export function eventOf(asked: Asked): object {
  const { auditId, verb, group, resource, namespace, name, uid, user, impersonated } = asked
  const isEviction = verb === 'evict'
  return {
    level: asked.isBodyKnown ? 'Request' : 'Metadata',
    stage: 'ResponseComplete',
    auditID: auditId,
    verb: isEviction ? 'create' : verb,
    user: { username: user },
    ...(impersonated !== null && { impersonatedUser: { username: impersonated } }),
    userAgent: asked.agent,
    ...(asked.mayBeDryRun && { requestURI: '/?dryRun=All' }),
    objectRef: {
      ...{ apiGroup: group, resource, namespace, name },
      ...(uid !== null && { uid }),
      ...(isEviction && { subresource: 'eviction' }),
    },
    responseStatus: { code: 200 },
    requestReceivedTimestamp: new Date(asked.from).toISOString(),
    stageTimestamp: new Date(asked.at).toISOString(),
  }
}

/**
 * Of an event as `EVENT` shapes it: null where it attributes nothing, undefined where it is no
 * audit event.
 */
export function askedOf(fields: Fields): Asked | null | undefined {
  const { stage, verb, auditID, userAgent } = fields
  const from = Date.parse(textOf(fields['requestReceivedTimestamp']))
  const at = Date.parse(textOf(fields['stageTimestamp']))
  const isEvent = typeof stage === 'string' && typeof verb === 'string' && from >= 0 && at >= 0
  if (!isEvent) return undefined
  const place = placeOf(fieldsOf(fields['objectRef']))
  const asks = deletionOf(verb, fieldsOf(fields['objectRef'])['subresource'])
  const user = textOf(fieldsOf(fields['user'])['username'])
  if (place === undefined || asks === undefined || user === '') return null
  if (stage !== 'ResponseComplete' || !isDone(fields) || isDryRun(fields)) return null
  if ((place.name === '') !== (asks === 'deletecollection')) return null
  if (from > LAST_MS || at > LAST_MS) return null
  const impersonated = textOf(fieldsOf(fields['impersonatedUser'])['username'])
  return {
    type: 'Actor',
    auditId: cut(textOf(auditID), LONGEST.auditId),
    verb: asks,
    ...place,
    uid: uidOf(fields),
    user: cut(user, LONGEST.user),
    impersonated: impersonated === '' ? null : cut(impersonated, LONGEST.user),
    agent: cut(textOf(userAgent), LONGEST.agent),
    mayBeDryRun: mayBeDryRun(fields),
    isBodyKnown: isBodyKnown(fields),
    from,
    at,
  }
}

function deletionOf(verb: string, subresource: unknown): DeletionVerb | undefined {
  const isWhole = subresource === undefined || subresource === ''
  if (isWhole && (verb === 'delete' || verb === 'deletecollection')) return verb
  return verb === 'create' && subresource === 'eviction' ? 'evict' : undefined
}

/** Undefined where nothing that exists can have such coordinates. */
function placeOf(
  ref: Fields,
): Pick<Actor, 'group' | 'resource' | 'namespace' | 'name'> | undefined {
  const [group, resource] = [textOf(ref['apiGroup']), textOf(ref['resource'])]
  // Of a namespace a server names the namespace as the one that it is in.
  const isNamespace = group === '' && resource === 'namespaces'
  const namespace = isNamespace ? '' : textOf(ref['namespace'])
  const name = textOf(ref['name'])
  const isGood = [group, resource, namespace, name].every((each) => each.length <= LONGEST_NAME)
  return isGood && resource !== '' ? { group, resource, namespace, name } : undefined
}

function isDone(event: Fields): boolean {
  const { code } = fieldsOf(event['responseStatus'])
  return typeof code === 'number' && code >= 200 && code < 300
}

/**
 * The body decides, and is there from level Request on only: a query that says so beside another
 * body deletes all the same.
 */
function isDryRun(event: Fields): boolean {
  return Number(optionsOf(event)['dryRun'] ?? 0) > 0
}

/**
 * At level Metadata a dry run that only the body asks for cannot be distinguished from a deletion.
 */
function isBodyKnown(event: Fields): boolean {
  const { level } = event
  const isLogged = level === 'Request' || level === 'RequestResponse'
  return isLogged || fieldsOf(event['requestObject'])['kind'] !== undefined
}

/** The end of a query that is too long is unknown. */
function mayBeDryRun(event: Fields): boolean {
  if (fieldsOf(event['requestObject'])['kind'] !== undefined) return false
  const address = textOf(event['requestURI'])
  return /[?&]dryRun=/.test(address) || address.endsWith(CUT)
}

/**
 * Of the one that was deleted. From level Request on the precondition has it, with RequestResponse
 * the answer: the object, or a Status about it. At level Metadata the summary of such a Status has
 * it, and that of an object has not: what is only being deleted, by grace or finalizer, has no uid.
 */
function uidOf(event: Fields): string | null {
  const answer = fieldsOf(event['responseObject'])
  const summary = fieldsOf(event['responseStatus'])['details']
  const all = [answer['details'], answer['metadata'], optionsOf(event)['preconditions'], summary]
  const uids = [event['objectRef'], ...all].map((each) => textOf(fieldsOf(each)['uid']))
  const uid = uids.find((each) => each !== '' && each.length <= LONGEST_NAME)
  return uid ?? null
}

/** DeleteOptions: what was sent, or is in the Eviction that was sent. */
function optionsOf(event: Fields): Fields {
  const sent = fieldsOf(event['requestObject'])
  return sent['kind'] === 'Eviction' ? fieldsOf(sent['deleteOptions']) : sent
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.toWellFormed() : ''
}

/** A pair of units that is one character is not cut in two. */
function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`.toWellFormed()
}
