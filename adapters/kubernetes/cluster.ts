/**
 * The Cluster over an Exchange: Kubernetes' HTTP API, in the few calls Kinfold makes.
 *
 * What must stay true: no DELETE leaves without both preconditions and an explicit policy, none
 * names a collection, and its dry run is in the body (in the URL it would be ignored if there is a
 * body, and the object deleted). The one exception, always a dry run, is lock-probe.ts. A patch
 * begins with a test of the uid. Each call is one exchange (two with a server that takes no choice
 * of types). All is requested as metadata only, except `read`, a whole watch, and objects of whose
 * fields rules read some: a body of those leaves no function of this folder.
 *
 * Not here: how answers are read (answer.ts), sockets (exchange.ts). Works over any Exchange, a
 * simulated one too.
 */
import type { Target } from '../../core/model/command.ts'
import { hash64 } from '../../core/model/hash.ts'
import { apiVersionOf, type ClusterId } from '../../core/model/object.ts'
import type { Clock } from '../../ports/clock.ts'
import {
  type Cluster,
  ClusterError,
  type ClusterEvent,
  type DeleteOptions,
  type Discovery,
  type GetAnswer,
  type KnownStarts,
  type ListPage,
  type LockAnswer,
  type MergeOptions,
  type NamedResource,
  type PatchOperation,
  type ReadAnswer,
  type ReapAnswer,
  type Resource,
  type Selection,
  type UnknownAnswer,
  type WatchEvent,
  type Watched,
} from '../../ports/cluster.ts'
import {
  type Connection,
  type Exchange,
  ExchangeError,
  type ExchangeRequest,
} from '../../ports/exchange.ts'
import type { Random } from '../../ports/random.ts'
import { isPathSegmentName } from '../../ports/record/object-name.ts'
import { MARKED, type PolicyCompiler, type Projection } from '../../ports/record/projection.ts'
import {
  parsed,
  type ReapAsked,
  type Reply,
  readGet,
  readReap,
  readWhole,
  unanswered,
} from './answer.ts'
import { ask, call, failed, HalfReply, PLAIN, type Reading, refused, unreadable } from './call.ts'
import { API_SERVICES, discoverKinds, localVersions } from './discovery.ts'
import { needsWhole } from './field.ts'
import { isJson } from './json.ts'
import { listPages, versionOfList } from './list.ts'
import { probeLock } from './lock-probe.ts'
import { namespacePath, objectPath } from './path.ts'
import { isWritten, STARTS_PATH, startsBody, startsIn } from './starts.ts'
import { watchEvents } from './watch.ts'

export interface ClusterOptions {
  /** The configured name: a label. */
  readonly name: string
  /** Closed with the cluster. */
  readonly exchange: Exchange
  readonly clock?: Pick<Clock, 'now'>
  readonly random?: Random
  /**
   * Keys of labels and annotations that are kept until others are given; by default those that may
   * protect an object.
   */
  readonly labelAllowList?: readonly string[]
  readonly annotationAllowList?: readonly string[]
  /**
   * How long the server is asked to keep a watch; by default it varies, so that watches do not all
   * end at once.
   */
  readonly watchSeconds?: number
  /** Compiles the rules of policies; left out, these are objects as any other. */
  readonly policyContent?: PolicyCompiler
  /** Of patches, in managedFields; `kinfold` unless given. */
  readonly fieldManager?: string
}

const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
const MERGE = 'application/merge-patch+json'
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
const SELF = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const KUBE_SYSTEM = '/api/v1/namespaces/kube-system'
const FIELD_MANAGER = 'kinfold'
/** As the API server bounds the messages of Events. */
const MAX_MESSAGE_LENGTH = 1_024
/** Bounds of the requested time of a watch. */
const WATCH_SECONDS: readonly [number, number] = [290, 590]

export function openCluster(options: ClusterOptions): Cluster {
  return new HttpCluster(options)
}

class HttpCluster implements Cluster {
  readonly name: string
  readonly #options: ClusterOptions
  readonly #exchange: Exchange
  readonly #reading: Reading
  #projection: Projection
  readonly #compiler: Pick<Projection, 'policyContent'>
  readonly #random: Random
  readonly #watchSeconds: number | undefined
  readonly #fieldManager: string
  /** The cluster behind each connection that carried live GETs. */
  readonly #homes = new WeakMap<Connection, ClusterId>()

  constructor(options: ClusterOptions) {
    const { name, exchange, clock = { now: Date.now }, random = { next: Math.random } } = options
    this.name = name
    this.#options = options
    this.#exchange = exchange
    this.#compiler =
      options.policyContent === undefined ? {} : { policyContent: options.policyContent }
    this.#projection = {
      ...MARKED,
      ...this.#compiler,
      labels: options.labelAllowList ?? MARKED.labels,
      annotations: options.annotationAllowList ?? MARKED.annotations,
    }
    const projection = (): Projection => this.#projection
    this.#reading = {
      exchange,
      get projection() {
        return projection()
      },
      now: () => clock.now(),
    }
    this.#random = random
    this.#watchSeconds = options.watchSeconds
    this.#fieldManager = options.fieldManager ?? FIELD_MANAGER
  }

  project(projection: Projection): void {
    this.#projection = { ...projection, ...this.#compiler }
  }

  apart(): Cluster {
    const request: Exchange['request'] = (...asked) => this.#exchange.request(...asked)
    const lent = { request, [Symbol.asyncDispose]: async () => undefined }
    const apart = new HttpCluster({ ...this.#options, exchange: lent })
    apart.#projection = this.#projection
    return apart
  }

  async identify(signal: AbortSignal): Promise<ClusterId> {
    return await this.#identify(signal)
  }

  async #identify(signal: AbortSignal, over?: Connection): Promise<ClusterId> {
    const way = over && ({ purpose: 'read', over } as const)
    return identityIn(await ask(this.#reading, KUBE_SYSTEM, METADATA, signal, way))
  }

  async discover(signal: AbortSignal): Promise<Discovery> {
    return await discoverKinds(this.#reading, signal)
  }

  list(
    resource: Resource,
    pageSize: number,
    signal: AbortSignal,
    confirming = false,
  ): AsyncIterable<ListPage> {
    const purpose = confirming ? 'confirm' : 'list'
    return listPages(this.#reading, resource, pageSize, signal, { way: { purpose } })
  }

  select(
    resource: Resource,
    selection: Selection,
    pageSize: number,
    signal: AbortSignal,
    of?: ClusterId,
  ): AsyncIterable<ListPage> {
    return listPages(this.#reading, resource, pageSize, signal, {
      selection,
      // Only of these connections is it known which cluster is behind them.
      way: { purpose: 'read' },
      check: async (connection) => {
        const stranger = await this.#strangerTo(of, { connection }, signal)
        if (stranger !== undefined) throw new ClusterError('UNREACHABLE', stranger.reason)
      },
    })
  }

  async currentVersion(resource: Resource, signal: AbortSignal): Promise<string> {
    return await versionOfList(this.#reading, resource, signal)
  }

  watch(
    resource: Watched,
    from: string,
    signal: AbortSignal,
  ): AsyncIterable<readonly WatchEvent[]> {
    const [least, most] = WATCH_SECONDS
    const varied = least + Math.floor(this.#random.next() * (most - least))
    return watchEvents(this.#reading, resource, from, this.#watchSeconds ?? varied, signal)
  }

  async get(
    target: Target,
    signal: AbortSignal,
    of?: ClusterId,
    auditId?: string,
  ): Promise<GetAnswer> {
    const path = objectPath(target)
    if (path === null) return await this.#unnamed(target, signal, of)
    const asking = { auditId, accept: this.#acceptOf(target) }
    const reply = await this.#call('GET', path, null, signal, asking)
    if ('type' in reply) return reply
    return (await this.#strangerTo(of, reply, signal)) ?? readGet(reply, this.#asked(target))
  }

  async read(target: Target, signal: AbortSignal, of?: ClusterId): Promise<ReadAnswer> {
    const path = objectPath(target)
    if (path === null) return nowhere(target)
    const reply = await this.#call('GET', path, null, signal, { accept: PLAIN })
    if ('type' in reply) return reply
    return (await this.#strangerTo(of, reply, signal)) ?? readWhole(reply, this.#asked(target))
  }

  async delete(target: Target, options: DeleteOptions, signal: AbortSignal): Promise<ReapAnswer> {
    const { uid, resourceVersion, propagationPolicy, dryRun, auditId, as } = options
    const { gracePeriodSeconds } = options
    checkGuard('DELETE', target, options)
    const path = objectPath(target)
    if (path === null) return nowhere(target)
    const body = JSON.stringify({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid, resourceVersion },
      propagationPolicy,
      ...(gracePeriodSeconds != null && { gracePeriodSeconds }),
      ...(dryRun && { dryRun: ['All'] }),
    })
    // The body decides. In the query it is for audit logs that have no bodies.
    const query = dryRun ? '?dryRun=All' : ''
    const asking = { auditId, accept: this.#acceptOf(target), as }
    const reply = await this.#call('DELETE', `${path}${query}`, body, signal, asking)
    if ('type' in reply) return reply
    const guarded = { ...target, uid }
    return readReap(reply, { ...this.#asked(guarded), verb: 'DELETE', dryRun })
  }

  async patch(
    target: Target,
    operations: readonly PatchOperation[],
    dryRun: boolean,
    signal: AbortSignal,
    auditId?: string,
  ): Promise<ReapAnswer> {
    const [first] = operations
    if (first?.op !== 'test' || first.path !== '/metadata/uid') {
      throw new Error(`a PATCH of ${target.resource}/${target.name} without a guard is never sent`)
    }
    const path = objectPath(target)
    if (path === null) return nowhere(target)
    const query = `fieldManager=${this.#fieldManager}${dryRun ? '&dryRun=All' : ''}`
    const body = JSON.stringify(operations)
    const asking = { auditId, accept: this.#acceptOf(target) }
    const reply = await this.#call('PATCH', `${path}?${query}`, body, signal, asking)
    return 'type' in reply
      ? reply
      : readReap(reply, { ...this.#asked(target), verb: 'PATCH', dryRun })
  }

  async merge(target: Target, options: MergeOptions, signal: AbortSignal): Promise<ReapAnswer> {
    const { uid, resourceVersion, change, dryRun, auditId, as } = options
    checkGuard('PATCH', target, options)
    const path = objectPath(target)
    if (path === null) return nowhere(target)
    const query = `fieldManager=${this.#fieldManager}${dryRun ? '&dryRun=All' : ''}`
    const isStatus = 'status' in change
    const metadata = { uid, resourceVersion, ...(!isStatus && change) }
    const body = JSON.stringify({ metadata, ...(isStatus && change) })
    const url = `${path}${isStatus ? '/status' : ''}?${query}`
    const asking = { auditId, accept: this.#acceptOf(target), as, type: MERGE }
    const reply = await this.#call('PATCH', url, body, signal, asking)
    if ('type' in reply) return reply
    const guarded = { ...target, uid }
    return readReap(reply, { ...this.#asked(guarded), verb: 'PATCH', dryRun })
  }

  async writeStatus(target: Target, status: object, signal: AbortSignal): Promise<ReapAnswer> {
    const path = objectPath(target)
    if (path === null) return nowhere(target)
    const operations: readonly PatchOperation[] = [
      { op: 'test', path: '/metadata/uid', value: target.uid },
      { op: 'add', path: '/status', value: status },
    ]
    const url = `${path}/status?fieldManager=${this.#fieldManager}`
    const reply = await this.#call('PATCH', url, JSON.stringify(operations), signal)
    if ('type' in reply) return reply
    return readReap(reply, { ...this.#asked(target), verb: 'PATCH', dryRun: false })
  }

  /**
   * The same warning about the same object gets the same name, so there is one however often this
   * is called.
   */
  async writeEvent(
    target: Target,
    told: ClusterEvent,
    signal: AbortSignal,
    auditId?: string,
  ): Promise<ReapAnswer> {
    const event = eventTarget(target, told)
    const path = namespacePath(event.namespace, event.resource)
    const body = JSON.stringify(eventBody(event, target, told, this.#reading.now()))
    const accept = this.#acceptOf(event)
    const reply = await this.#call('POST', path, body, signal, { auditId, accept })
    if ('type' in reply) return reply
    const isThere = reply.status === 409
    const last = isThere
      ? await this.#call('GET', objectPath(event)!, null, signal, { accept })
      : reply
    if ('type' in last) return last
    const asked: ReapAsked = { ...this.#asked(event), verb: 'POST', dryRun: false }
    return readReap(last, asked)
  }

  async mayI(verb: string, what: Resource | NamedResource, signal: AbortSignal): Promise<boolean> {
    const { group } = what
    const [resource, subresource] = what.resource.split('/')
    const place = 'name' in what ? { namespace: what.namespace, name: what.name } : {}
    const body = JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: {
        resourceAttributes: {
          verb,
          group,
          resource,
          ...(subresource !== undefined && { subresource }),
          ...place,
        },
      },
    })
    const request = { ...requestOf('POST', REVIEWS, body, PLAIN), purpose: 'read' as const }
    const reply = await call(this.#exchange, request, signal).catch((error: unknown) => {
      throw failed(error, REVIEWS)
    })
    if (reply.status !== 201) throw refused(reply, REVIEWS, this.#reading.now())
    const answer = parsed(reply)
    const status = isJson(answer) ? answer['status'] : undefined
    if (!isJson(status)) throw unreadable(REVIEWS, 'it has no status')
    return status['allowed'] === true
  }

  async whoAmI(signal: AbortSignal): Promise<string | null> {
    const body = JSON.stringify({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
    })
    const request = { ...requestOf('POST', SELF, body, PLAIN), purpose: 'read' as const }
    const reply = await call(this.#exchange, request, signal).catch((error: unknown) => {
      throw failed(error, SELF)
    })
    if (reply.status !== 201) return null
    const answer = parsed(reply)
    const status = isJson(answer) ? answer['status'] : undefined
    const info = isJson(status) ? status['userInfo'] : undefined
    const name = isJson(info) ? info['username'] : undefined
    return typeof name === 'string' ? name : null
  }

  async probeLock(signal: AbortSignal): Promise<LockAnswer> {
    return await probeLock((method, path, body) => this.#call(method, path, body, signal))
  }

  async readStarts(signal: AbortSignal): Promise<KnownStarts> {
    const reply = await this.#call('GET', STARTS_PATH, null, signal, { accept: PLAIN })
    if ('type' in reply) throw new ClusterError('UNREACHABLE', reply.reason)
    return startsIn(reply, this.#reading.now())
  }

  async writeStarts(
    read: KnownStarts,
    entries: KnownStarts['entries'],
    signal: AbortSignal,
  ): Promise<boolean> {
    const body = startsBody(read, entries)
    const reply = await this.#call('PUT', STARTS_PATH, body, signal, { accept: PLAIN })
    if ('type' in reply) throw new ClusterError('UNREACHABLE', reply.reason)
    return isWritten(reply, read, this.#reading.now())
  }

  /**
   * By an answer that only an API server gives, to whom it knows: what stands before it has a clock
   * of its own, and answers what it likes where the server is down or refuses us.
   */
  async clockSkewMs(signal: AbortSignal): Promise<number | null> {
    const path = KUBE_SYSTEM
    const before = this.#reading.now()
    const request = { ...requestOf('GET', path, null, METADATA), purpose: 'list' as const }
    const reply = await call(this.#exchange, request, signal).catch((error: unknown) => {
      throw failed(error, path)
    })
    const after = this.#reading.now()
    if (reply.status !== 200) throw refused(reply, path, after)
    identityIn(parsed(reply))
    // The header is cut to whole seconds, so the server's clock was half a second later on average.
    const theirs = Date.parse(reply.headers['date'] ?? '') + 500
    return Number.isNaN(theirs) ? null : Math.round(theirs - (before + after) / 2)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#exchange[Symbol.asyncDispose]()
  }

  /**
   * An answer of another cluster proves nothing. Behind one name there may be several clusters at
   * once, and each connection leads to one of them: so the cluster behind each connection is asked
   * for once (F31).
   */
  async #strangerTo(
    cluster: ClusterId | undefined,
    { connection }: Pick<Reply, 'connection'>,
    signal: AbortSignal,
  ): Promise<UnknownAnswer | undefined> {
    if (cluster === undefined || connection === undefined) return undefined
    const home = this.#homes.get(connection) ?? (await this.#identify(signal, connection))
    this.#homes.set(connection, home)
    if (home === cluster) return undefined
    const reason = `the endpoint is another cluster, ${home}`
    return { type: 'Unknown', code: null, reason, transient: true, retryAfterMs: null }
  }

  /**
   * The cluster's own server takes no object of such a name, so there is none where that server
   * answers: always in the core group, elsewhere only where an API service says so of that very
   * version. A list that lacks it proves nothing. It is asked for those each time, since an owner
   * to be verified anew does not say whether its kind was aggregated.
   */
  async #unnamed(
    target: Target,
    signal: AbortSignal,
    of: ClusterId | undefined,
  ): Promise<GetAnswer> {
    const isElsewhereRight = objectPath({ ...target, name: 'any' }) !== null
    if (target.aggregated || isPathSegmentName(target.name) || !isElsewhereRight) {
      return nowhere(target)
    }
    if (target.group === '') return NEVER_THERE
    const reply = await this.#call('GET', API_SERVICES, null, signal, { accept: PLAIN })
    if ('type' in reply) return reply
    const stranger = await this.#strangerTo(of, reply, signal)
    if (stranger !== undefined) return stranger
    const list = reply.status === 200 ? parsed(reply) : undefined
    const version = apiVersionOf(target.group, target.version)
    const isOwn =
      isJson(list) && list['kind'] === 'APIServiceList' && localVersions(list).has(version)
    return isOwn
      ? NEVER_THERE
      : nowhere(target, '; whether the cluster itself serves its kind is not known')
  }

  #asked(target: Target): { target: Target; projection: Projection; now: number } {
    return { target, projection: this.#projection, now: this.#reading.now() }
  }

  /** As lists and watches of that kind: an answer without its fields would be another content. */
  #acceptOf(target: Target): string {
    return needsWhole(this.#projection, target) ? PLAIN : METADATA
  }

  async #call(
    method: ExchangeRequest['method'],
    path: string,
    body: string | null,
    signal: AbortSignal,
    { accept = METADATA, auditId, as, type }: Asking = {},
  ): Promise<Reply | UnknownAnswer> {
    try {
      const plain = requestOf(method, path, body, accept, auditId)
      const own =
        type === undefined
          ? plain
          : { ...plain, headers: { ...plain.headers, 'content-type': type } }
      const request = as === undefined ? own : impersonating(own, as)
      const reply = await call(this.#exchange, request, signal)
      // A server that accepts no choice of types refuses before anything is done.
      const isPlainOnly = reply.status === 406 && accept !== PLAIN
      return isPlainOnly
        ? await this.#call(method, path, body, signal, { accept: PLAIN, auditId, as, type })
        : reply
    } catch (error) {
      if (error instanceof HalfReply) return unanswered(error.cause, error.status)
      if (error instanceof ExchangeError) return unanswered(error, null)
      throw error
    }
  }
}

/** - `accept`: metadata alone unless given. - `auditId`: the server makes one up unless given. */
interface Asking {
  readonly accept?: string
  readonly auditId?: string | undefined
  /** The account by whose rights the server decides. */
  readonly as?: string | undefined
  /** Of the body; left out: a JSON Patch of a PATCH, and JSON of anything else. */
  readonly type?: string | undefined
}

/** An empty precondition is none to an API server. */
function checkGuard(
  verb: 'DELETE' | 'PATCH',
  { resource, name }: Target,
  { uid, resourceVersion, as }: Pick<MergeOptions, 'uid' | 'resourceVersion' | 'as'>,
): void {
  const call = `a ${verb} of ${resource}/${name}`
  if (uid === '' || resourceVersion === '') {
    throw new Error(`${call} without a guard is never sent`)
  }
  if (as !== undefined && !isAccount(as)) throw new Error(`${call} as no account is never sent`)
}

function requestOf(
  method: ExchangeRequest['method'],
  path: string,
  body: string | null,
  accept: string,
  auditId?: string,
): ExchangeRequest {
  const type = method === 'PATCH' ? 'application/json-patch+json' : 'application/json'
  const headers = {
    accept,
    ...(body !== null && { 'content-type': type }),
    ...(auditId !== undefined && { 'audit-id': auditId }),
  }
  return { method, path, headers, body, purpose: method === 'GET' ? 'read' : 'write' }
}

/** Groups of the account are added by the server itself. */
function impersonating(request: ExchangeRequest, as: string): ExchangeRequest {
  return { ...request, headers: { ...request.headers, 'impersonate-user': as } }
}

/** Of a service account alone, so that no text of a record becomes another user or header. */
function isAccount(text: string): boolean {
  return /^system:serviceaccount:[a-z0-9][-a-z0-9]{0,62}:[a-z0-9][-.a-z0-9]{0,252}$/.test(text)
}

/** As the server would answer, could it be asked. */
const NEVER_THERE: GetAnswer = { type: 'Absent', code: 404 }

function nowhere({ resource, name }: Target, more = ''): UnknownAnswer {
  const reason = `no object can be called ${resource}/${name.slice(0, 200)}${more}`.slice(0, 300)
  return { type: 'Unknown', code: null, reason, transient: false, retryAfterMs: null }
}

/** Events about cluster-scoped objects are kept in `default`. */
function eventTarget(target: Target, { type, reason, message }: ClusterEvent): Target {
  return {
    group: '',
    version: 'v1',
    kind: 'Event',
    resource: 'events',
    namespace: target.namespace || 'default',
    name: `kinfold-${hash64(JSON.stringify([target.uid, target.name, type, reason, message]))}`,
    uid: '',
    resourceVersion: '',
    aggregated: false,
  }
}

function eventBody(event: Target, about: Target, told: ClusterEvent, now: number): object {
  const { kind, namespace, name, uid } = about
  const time = new Date(now).toISOString()
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: event.name, namespace: event.namespace },
    involvedObject: {
      ...{ kind, namespace, name, uid },
      apiVersion: apiVersionOf(about.group, about.version),
    },
    type: told.type,
    reason: told.reason,
    message: told.message.slice(0, MAX_MESSAGE_LENGTH),
    source: { component: FIELD_MANAGER },
    reportingComponent: FIELD_MANAGER,
    reportingInstance: '',
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  }
}

/** The identity of a cluster is the uid of its kube-system. */
function identityIn(namespace: unknown): ClusterId {
  const metadata = isJson(namespace) ? namespace['metadata'] : undefined
  const uid = isJson(metadata) && metadata['name'] === 'kube-system' ? metadata['uid'] : undefined
  if (typeof uid !== 'string' || uid === '') throw unreadable(KUBE_SYSTEM, 'it has no uid')
  return uid
}
