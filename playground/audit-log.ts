/**
 * What an API server of the playground would write into its audit log: the deletions that were
 * asked of it, and who asked, as events of audit.k8s.io/v1.
 *
 * What must stay true: an event has what a real server's has at level RequestResponse, as far as it
 * is about a deletion. The user of a request is the one that it names: the playground has no
 * credentials. Where no receiver takes the events, the oldest are dropped, as a server drops them.
 *
 * Not here: sending them (cli/serve/playground-audit.ts); a namespace's content, which is deleted
 * with it without a request (adapters/memory/api/write/sweep.ts).
 */
import { randomUUID } from 'node:crypto'
import { targetOf, verbOf } from '../adapters/memory/api/request.ts'
import type { ApiRequest, ApiServer } from '../adapters/memory/api-server.ts'
import type { Clock } from '../ports/clock.ts'

/** In lower case, as all names of headers here: the one that kubectl's `--as` sets. */
export const USER_HEADER = 'impersonate-user'
/** As upstream names who shows no credentials. */
const ANONYMOUS = 'system:anonymous'
const MOST_WAITING = 10_000

export class AuditLog {
  readonly #clock: Clock
  #waiting: object[] = []
  #wake: () => void = () => undefined

  constructor(api: ApiServer, clock: Clock) {
    this.#clock = clock
    api.inject(async (request, proceed) => {
      const asked = deletionIn(api, request)
      if (asked === undefined) return undefined
      const from = this.#clock.now()
      const answer = await proceed()
      this.#add(eventOf(request, asked, { from, at: this.#clock.now(), code: answer.status }))
      return answer
    })
  }

  /** At least one, all that wait; none once the signal aborts. Called by one reader. */
  async next(signal: AbortSignal): Promise<readonly object[]> {
    if (this.#waiting.length === 0 && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      signal.addEventListener('abort', this.#wake)
      await promise
      signal.removeEventListener('abort', this.#wake)
    }
    return signal.aborted ? [] : this.#waiting.splice(0)
  }

  #add(event: object): void {
    this.#waiting.push(event)
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift()
    this.#wake()
  }
}

interface Asked {
  readonly verb: 'delete' | 'deletecollection'
  readonly ref: Readonly<Record<string, string>>
  /** Of what has that name when it is asked; undefined: nothing has, or all are meant. */
  readonly uid: string | undefined
}

function deletionIn(api: ApiServer, { method, path }: ApiRequest): Asked | undefined {
  if (method !== 'DELETE') return undefined
  const { address, query } = targetOf(path)
  if (address === undefined) return undefined
  const { group, version, resource, namespace, name } = address
  const uid = api.object(group, resource, namespace, name)?.metadata.uid
  const verb = verbOf(method, address, query) === 'DELETECOLLECTION' ? 'deletecollection' : 'delete'
  return {
    verb,
    ref: { apiGroup: group, apiVersion: version, resource, namespace, name },
    uid,
  }
}

interface Answered {
  readonly from: number
  readonly at: number
  readonly code: number
}

function eventOf(request: ApiRequest, { verb, ref, uid }: Asked, answered: Answered): object {
  const { headers, path, body } = request
  return {
    ...{ kind: 'Event', apiVersion: 'audit.k8s.io/v1', level: 'RequestResponse' },
    ...{ auditID: headers['audit-id'] ?? randomUUID(), stage: 'ResponseComplete' },
    ...{ requestURI: path, verb, userAgent: headers['user-agent'] ?? '' },
    user: { username: headers[USER_HEADER] ?? ANONYMOUS },
    objectRef: ref,
    ...(uid !== undefined && { responseObject: { details: { uid } } }),
    ...(body !== null && body !== '' && { requestObject: optionsIn(body) }),
    responseStatus: { code: answered.code },
    requestReceivedTimestamp: new Date(answered.from).toISOString(),
    stageTimestamp: new Date(answered.at).toISOString(),
  }
}

/** What is no JSON was refused. */
function optionsIn(body: string): object {
  try {
    return { kind: 'DeleteOptions', ...JSON.parse(body) }
  } catch {
    return {}
  }
}
