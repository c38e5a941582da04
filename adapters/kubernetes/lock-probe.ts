/**
 * Tries the second lock: DELETEs that it has to refuse.
 *
 * What must stay true: a probe deletes nothing, however the server handles it. It names a ConfigMap
 * of Kinfold that nothing needs, bound to the uid just seen, and is a dry run, in the body and in
 * the URL: if there is a body the URL's is ignored, and a body may get lost on the way. Anything
 * but a refusal in the lock's own words is no lock.
 *
 * Not here: when it is tried and the consequences (services/reaper/lock.ts).
 */
import type { Target } from '../../core/model/command.ts'
import { OWN_KEY } from '../../core/model/mark.ts'
import type { LockAnswer, UnknownAnswer } from '../../ports/cluster.ts'
import { LOCK, LOCK_REFUSALS } from '../../ports/lock.ts'
import { isNotFound, isStatus, parsed, type Reply, reasonOf } from './answer.ts'
import { isJson } from './json.ts'
import { objectPath } from './path.ts'

export type Send = (
  method: 'GET' | 'DELETE',
  path: string,
  body: string | null,
) => Promise<Reply | UnknownAnswer>

const PROBED: Target = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  resource: 'configmaps',
  namespace: LOCK.namespace,
  name: LOCK.name,
  uid: '',
  resourceVersion: '',
  aggregated: false,
}

const PATH = objectPath(PROBED) as string
const OBJECT = `ConfigMap ${LOCK.namespace}/${LOCK.name}`
const REMEDY = 'apply what kinfold rbac prints'

interface Probed {
  readonly uid: string
  readonly resourceVersion: string
}

export async function probeLock(send: Send): Promise<LockAnswer> {
  const look = await lookAt(send)
  if ('type' in look) return look
  const { uid, resourceVersion } = look
  const guarded = { uid, resourceVersion }
  return (
    (await tryDelete(send, { uid }, 'one without a resourceVersion', LOCK_REFUSALS.unguarded)) ??
    (await tryDelete(send, guarded, 'one of a protected object', LOCK_REFUSALS.marked)) ?? {
      type: 'Locked',
    }
  )
}

/** The object to probe, or why there is none. */
async function lookAt(send: Send): Promise<Probed | LockAnswer> {
  const reply = await send('GET', PATH, null)
  if ('type' in reply) return unknown(reply.reason)
  if (isNotFound(reply, PROBED)) return open(`there is no ${OBJECT} to try it on; ${REMEDY}`)
  const body = parsed(reply)
  if (reply.status !== 200 || !isJson(body)) {
    return unknown(`GET of ${OBJECT}: ${reasonOf(reply, body)}`)
  }
  const metadata = isJson(body['metadata']) ? body['metadata'] : {}
  const { name, uid, resourceVersion } = metadata
  if (name !== LOCK.name || !isText(uid) || !isText(resourceVersion)) {
    return unknown(`GET of ${OBJECT} was answered with something else`)
  }
  const annotations = isJson(metadata['annotations']) ? metadata['annotations'] : {}
  if (annotations[OWN_KEY] !== 'true') {
    return open(`${OBJECT} is not the one that kinfold rbac prints; ${REMEDY}`)
  }
  return { uid, resourceVersion }
}

/** Undefined when the lock refused it, in these words. */
async function tryDelete(
  send: Send,
  preconditions: object,
  what: string,
  refusal: string,
): Promise<LockAnswer | undefined> {
  const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions, dryRun: ['All'] }
  const reply = await send('DELETE', `${PATH}?dryRun=All`, JSON.stringify(options))
  if ('type' in reply) return unknown(reply.reason)
  const body = parsed(reply)
  const message = isStatus(body) ? body['message'] : undefined
  if (reply.status >= 200 && reply.status < 300) {
    return open(`it let a DELETE pass, ${what} (a dry run); ${REMEDY}`)
  }
  if (typeof message === 'string' && message.includes(refusal)) return undefined
  // No right to it, another policy's refusal, a conflict: it never got as far as the lock.
  return unknown(`a DELETE, ${what}, was refused by something else: ${reasonOf(reply, body)}`)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function open(reason: string): LockAnswer {
  return { type: 'Open', reason }
}

function unknown(reason: string): LockAnswer {
  return { type: 'Unknown', reason }
}
