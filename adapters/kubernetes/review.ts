/**
 * TokenReview and SubjectAccessReview over an exchange.
 *
 * What must stay true: a user counts only with `authenticated: true`, a name, and our audience
 * among `status.audiences`: a server that does not support audiences would accept any token. A
 * token is in the body alone, and in no error.
 *
 * Not here: for how long an answer counts (runtime/http/authority.ts).
 */
import type { ClusterId } from '../../core/model/object.ts'
import type { Cluster } from '../../ports/cluster.ts'
import { ClusterError } from '../../ports/cluster.ts'
import type { Exchange } from '../../ports/exchange.ts'
import { ExchangeError } from '../../ports/exchange.ts'
import { type Access, type Review, ReviewError, type User } from '../../ports/review.ts'
import { parsed } from './answer.ts'
import { call, HalfReply, PLAIN } from './call.ts'
import { isJson, type Json } from './json.ts'

const TOKEN_REVIEWS = '/apis/authentication.k8s.io/v1/tokenreviews'
const ACCESS_REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
const ANONYMOUS = 'system:anonymous'

/** `cluster` identifies it; both are closed by the caller. */
export function kubernetesReview(exchange: Exchange, cluster: Pick<Cluster, 'identify'>): Review {
  return {
    identify: async (signal) => await identified(cluster, signal),
    async authenticate(token, audience, signal) {
      const spec = { token, audiences: [audience] }
      const status = await reviewed(exchange, TOKEN_REVIEWS, 'TokenReview', spec, signal)
      const audiences = status['audiences']
      const isOurs = Array.isArray(audiences) && audiences.includes(audience)
      return status['authenticated'] === true && isOurs ? userIn(status['user']) : null
    },
    async mayDo(user, access, signal) {
      const spec = {
        user: user.name,
        groups: user.groups,
        extra: user.extra,
        ...(user.uid === '' ? {} : { uid: user.uid }),
        resourceAttributes: attributesOf(access),
      }
      const status = await reviewed(exchange, ACCESS_REVIEWS, 'SubjectAccessReview', spec, signal)
      return status['allowed'] === true && status['denied'] !== true
    },
  }
}

async function identified(
  cluster: Pick<Cluster, 'identify'>,
  signal: AbortSignal,
): Promise<ClusterId> {
  try {
    return await cluster.identify(signal)
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error
    throw new ReviewError(`the cluster cannot be asked who it is: ${error.message}`)
  }
}

async function reviewed(
  exchange: Exchange,
  path: string,
  kind: 'TokenReview' | 'SubjectAccessReview',
  spec: object,
  signal: AbortSignal,
): Promise<Json> {
  const group = kind === 'TokenReview' ? 'authentication' : 'authorization'
  const body = JSON.stringify({ apiVersion: `${group}.k8s.io/v1`, kind, spec })
  const headers = { accept: PLAIN, 'content-type': PLAIN }
  const request = { method: 'POST', path, headers, body, purpose: 'list' } as const
  const reply = await call(exchange, request, signal).catch((error: unknown) => {
    const isOurs = error instanceof ExchangeError || error instanceof HalfReply
    throw isOurs ? new ReviewError(`a ${kind} was not answered: ${error.message}`) : error
  })
  if (reply.status !== 201 && reply.status !== 200) {
    const hint = reply.status === 403 ? `; grant our account create on ${kind.toLowerCase()}s` : ''
    throw new ReviewError(`a ${kind} was answered ${reply.status}${hint}`)
  }
  const answer = parsed(reply)
  const status = isJson(answer) ? answer['status'] : undefined
  if (!isJson(status)) throw new ReviewError(`a ${kind} was answered without a status`)
  return status
}

function attributesOf({ verb, group, resource, namespace, name }: Access): object {
  return {
    ...{ verb, group, resource },
    ...(namespace === '' ? {} : { namespace }),
    ...(name === '' ? {} : { name }),
  }
}

function userIn(raw: unknown): User | null {
  if (!isJson(raw)) return null
  const { username, uid, groups, extra } = raw
  if (typeof username !== 'string' || username === '' || username === ANONYMOUS) return null
  const pairs = isJson(extra) ? Object.entries(extra) : []
  return {
    name: username,
    uid: typeof uid === 'string' ? uid : '',
    groups: textsIn(groups),
    extra: Object.fromEntries(pairs.map(([key, values]) => [key, textsIn(values)])),
  }
}

function textsIn(raw: unknown): readonly string[] {
  return Array.isArray(raw) ? raw.filter((each) => typeof each === 'string') : []
}
