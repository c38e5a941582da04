/**
 * Audit events over HTTP, and what is answered from them: who deleted what, how certain that is,
 * and who may say so.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import type { Event } from '../../../core/model/event.ts'
import { timeText } from '../../../core/model/text.ts'
import { LogError } from '../../../ports/log.ts'
import type { Store } from '../../../ports/store.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { openClusterTokens } from '../../../runtime/http/cluster-token.ts'
import { serveEndpoint } from '../../../runtime/http/endpoint.ts'
import { Problem } from '../../../runtime/http/problem.ts'
import { checked } from '../../../testing/answer-check.ts'
import { type AuditFields, auditEvent, eventList } from '../../../testing/audit-event.ts'
import { eventually } from '../../../testing/eventually.ts'
import { GraphGroup, tell } from '../../../testing/rig/graph-group.ts'
import { indexOver } from '../../../testing/rig/index-rig.ts'
import {
  appendAll,
  assign,
  codec,
  emptyStore,
  eventsOf,
  runTask,
} from '../../../testing/rig/task-rig.ts'
import type { DeletionList, Why } from '../api/answer-schema.ts'
import { addGraphRoutes } from '../http.ts'
import { ActorIndex, MOST_KEPT } from '../query/index/actor-index.ts'
import { createQuestions } from '../questions.ts'
import { KEPT_A_DAY } from './audit-feed.ts'

const PATH = '/v1/audit-events'
const STORY = [
  'put deploy/web',
  'put cm/a',
  'put cm/b',
  'put rs/x <- deploy/web',
  'put pod/y <- rs/x',
]
const KEEP_MS = 3_600_000
const TOKEN = 'token-of-cluster-test'
const OTHER = 'token-of-another-one'
const HTTP = 'token-of-the-endpoint'

class AwayLog extends MemoryLog {
  isAway = false
  /** What the next append waits for. */
  held: Promise<void> | undefined

  override async append(...asked: Parameters<MemoryLog['append']>): Promise<bigint> {
    const { held } = this
    this.held = undefined
    if (held !== undefined) {
      await held
      return await super.append(...asked)
    }
    if (this.isAway) throw new LogError('UNAVAILABLE', 'the brokers cannot be reached')
    return await super.append(...asked)
  }
}

interface Rig {
  readonly url: string
  readonly log: AwayLog
  readonly actorStore: Store
  /** What is `[deleting]` in it has this deletionTimestamp. */
  tell(line: string, deletedAt?: number): Promise<void>
  send(body: unknown, init?: RequestInit & { readonly path?: string }): Promise<Response>
  /** A short form: match, user, object and how many others. */
  deleters(uid: string): Promise<readonly string[]>
  /** The same, and why it may be another one. */
  why(uid: string): Promise<{ readonly told: readonly string[]; readonly partial: string }>
}

interface RigOptions {
  readonly log?: AwayLog
  readonly actorStore?: Store
  /** Lines of the file, and whether all else takes a token, too. */
  readonly tokens?: string
  readonly isGuarded?: boolean
  readonly auditKeptADay?: number
  /** A kind whose objects no user may get. */
  readonly hidden?: string
  /** How far behind the log's time is. */
  readonly behindMs?: () => number
}

async function rigFor(t: TestContext, options: RigOptions = {}): Promise<Rig> {
  const clock = systemClock()
  const { actorStore = emptyStore(), behindMs = () => 0 } = options
  const now = (): number => clock.now() - behindMs()
  const monotonicMs = (): number => clock.monotonicMs() - behindMs()
  const logClock = { ...clock, now, monotonicMs }
  const log = options.log ?? new AwayLog({ partitions: 1, clock: logClock })
  const lines = [...STORY]
  if (options.log === undefined) {
    await assign(log)
    await appendAll(log, eventsOf(lines))
  }
  let told = eventsOf(lines).length
  const running = runTask(log, emptyStore())
  await running.caughtUp()
  const index = indexOver(log, clock)
  const actors = new ActorIndex({ log, codec, clock, store: actorStore, keepMs: KEEP_MS })
  const stop = new AbortController()
  const loops = Promise.all([index.run(stop.signal), actors.run(stop.signal)])
  const graph = { tasks: [running.task], owners: () => new Map<number, string>() }
  const parts = createQuestions({
    ...{ log, codec, clock, graph, index, actors },
    auditKeptADay: options.auditKeptADay,
  })
  const access = Object.assign(parts.access, {
    async object(_request: unknown, { kind }: { readonly kind: string }) {
      if (kind === options.hidden) throw new Problem(403, 'it is not yours to see')
    },
  })
  const { url, server } = await serveEndpoint(
    {
      ...{ version: 'test', checks: () => [], scrape: async () => '' },
      add: (routes) => addGraphRoutes(routes, { ...parts, access }),
    },
    {
      address: '127.0.0.1:0',
      clusterTokens:
        options.tokens === undefined ? undefined : openClusterTokens(fileOf(t, options.tokens)),
      token: options.isGuarded
        ? { isShown: (shown) => shown === `Bearer ${HTTP}`, failure: () => '' }
        : undefined,
    },
  )
  t.after(async () => {
    await server.close()
    stop.abort()
    await loops
    await running[Symbol.asyncDispose]()
  })
  return {
    ...{ url, log, actorStore },
    async tell(line, deletedAt = Date.now()) {
      lines.push(line)
      const all = eventsOf(lines)
      const events = all.slice(told).map((event): Event => {
        if (event.type !== 'ObjectAdded' && event.type !== 'ObjectUpdated') return event
        if (event.object.deletedAt === null) return event
        return { ...event, object: { ...event.object, deletedAt } }
      })
      await appendAll(log, events)
      told = all.length
      await running.caughtUp()
    },
    async send(body, { path = PATH, ...init } = {}) {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const headers = { 'content-type': 'application/json', ...init.headers }
      const response = await fetch(url + path, { method: 'POST', body: text, ...init, headers })
      return await checked(url + path, response, 'POST')
    },
    deleters: async (uid) => await deletersAt(url, uid),
    why: async (uid) => await whyAt(url, uid),
  }
}

async function deletersAt(url: string, uid: string): Promise<readonly string[]> {
  const { told, partial } = await whyAt(url, uid)
  equal(partial, '')
  return told
}

/** No user is named, and what only has its name is in `partial`. */
async function isUnproven(rig: Pick<Rig, 'why'>, uid: string, said: string): Promise<void> {
  const { told, partial } = await rig.why(uid)
  deepEqual(told, [])
  ok(partial.startsWith(said), partial)
  match(partial, /, and nothing proves that it was this one$/)
}

async function whyAt(
  url: string,
  uid: string,
): Promise<{ readonly told: readonly string[]; readonly partial: string }> {
  const path = `${url}/v1/why?uid=${uid}`
  const response = await checked(path, await fetch(path))
  const why = (await response.json()) as Why
  const told = why.deletedBy.map(
    ({ match: how, user, object, others }) => `${how} ${user} ${object.uid} ${others}`,
  )
  return { told, partial: why.partial }
}

function fileOf(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-audit-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'tokens')
  writeFileSync(file, text, { mode: 0o600 })
  chmodSync(file, 0o600)
  return file
}

function bearer(token: string): RequestInit {
  return { headers: { authorization: `Bearer ${token}` } }
}

async function refusal(response: Response): Promise<string> {
  const { status, detail } = (await response.json()) as { status: number; detail: string }
  equal(response.status, status)
  return `${status} ${detail}`
}

test('who deleted an object is answered, whether it was told before the deletion was folded or after it', async (t) => {
  const rig = await rigFor(t)
  const before = await rig.send(eventList(auditEvent('a', Date.now())))
  deepEqual(await before.json(), {
    ...{ apiVersion: 'kinfold/v1', kind: 'AuditEventsResult', partial: '' },
    ...{ cluster: { name: 'test', id: 'c', scope: 'test' }, received: 1, kept: 1 },
    ...{ overShare: 0, unreadable: 0 },
  })
  deepEqual(await rig.deleters('cm-a'), [], 'it exists')
  await rig.tell('delete cm/a')
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
  await rig.tell('delete cm/b')
  deepEqual(await rig.deleters('cm-b'), [])
  await rig.send(eventList(auditEvent('b', Date.now())))
  deepEqual(await rig.deleters('cm-b'), ['name-and-time alice cm-b 0'])
})

test('a uid is certain, and a request about another uid, kind or time is none', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const now = Date.now()
  const ref = { resource: 'configmaps', namespace: 'ns', name: 'a', apiVersion: 'v1' }
  await rig.send(
    eventList(
      auditEvent('a', now, { auditID: '1', objectRef: { ...ref, uid: 'former' } }),
      auditEvent('a', now, { auditID: '2', objectRef: { ...ref, resource: 'secrets' } }),
      auditEvent('a', now, { auditID: '3', objectRef: { ...ref, apiGroup: 'example.com' } }),
      auditEvent('a', now, { auditID: '4', objectRef: { ...ref, namespace: 'other' } }),
      auditEvent('a', now - 60_000, { auditID: '5' }),
      auditEvent('a', now + 60_000, { auditID: '6' }),
    ),
  )
  await isUnproven(
    rig,
    'cm-a',
    `alice asked to delete a ConfigMap of the name a at ${timeText(now - 60_000)}`,
  )
  const user = { username: 'carol' }
  const collection = { resource: 'configmaps', namespace: 'ns', apiVersion: 'v1' }
  const verb = 'deletecollection'
  await rig.send(eventList(auditEvent('', now, { verb, user, objectRef: collection })))
  deepEqual(await rig.deleters('cm-a'), ['collection-and-time carol cm-a 0'])
  await rig.send(
    eventList(
      auditEvent('a', now - 300, { user: { username: 'dave' }, auditID: '7' }),
      auditEvent('a', now + 4_000, { user: { username: 'erin' }, auditID: '8' }),
    ),
  )
  // Erin's fits as well, and carol's.
  deepEqual(await rig.deleters('cm-a'), ['name-and-time dave cm-a 2'])
  const uid = { ...ref, uid: 'cm-a' }
  await rig.send(eventList(auditEvent('a', now - 2_000, { level: 'Request', objectRef: uid })))
  deepEqual(await rig.deleters('cm-a'), ['uid alice cm-a 0'])
})

/** What a server answers of an object that it removed at once, at level Metadata. */
function removed(uid: string): AuditFields {
  const details = { name: uid.slice(3), kind: 'configmaps', uid }
  return { responseStatus: { metadata: {}, status: 'Success', details, code: 200 } }
}

test('at level Metadata the uid is certain while no other request, or dry run, may be meant', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const now = Date.now()
  const bob = { user: { username: 'bob' } }
  const dave = { user: { username: 'dave' } }
  await rig.send(
    eventList(
      auditEvent('a', now - 600_000, { auditID: '1', ...dave, ...removed('cm-a') }),
      auditEvent('a', now, { auditID: '2', ...removed('cm-former') }),
    ),
  )
  // Dave's, long before it, was a dry run that nothing of it shows.
  deepEqual(await rig.deleters('cm-a'), [])
  await rig.send(eventList(auditEvent('a', now - 900, { auditID: '3', ...removed('cm-a') })))
  deepEqual(await rig.deleters('cm-a'), ['uid alice cm-a 0'])
  await rig.send(eventList(auditEvent('a', now, { auditID: '4', ...bob, ...removed('cm-a') })))
  deepEqual(await rig.deleters('cm-a'), ['name-and-time bob cm-a 1'])
})

test('what was deleted while nothing was seen is of the request with its uid, and says between when it was', async (t) => {
  let behind = 60_000
  const rig = await rigFor(t, { behindMs: () => behind })
  behind = 0
  await rig.tell('delete cm/a')
  const then = Date.now() - 30_000
  const bob = { user: { username: 'bob' }, ...removed('cm-a') }
  await rig.send(eventList(auditEvent('a', then - 60_000, { auditID: '1', ...removed('cm-a') })))
  // Before the last sign of life it existed: that one was a dry run.
  deepEqual((await rig.why('cm-a')).told, [])
  await rig.send(eventList(auditEvent('a', then, { auditID: '2', ...bob })))
  const { told, partial } = await rig.why('cm-a')
  deepEqual(told, ['uid bob cm-a 0'])
  match(partial, /^nothing was seen between \S+Z and \S+Z: what was deleted then has no time/)
  const carol = { auditID: '3', user: { username: 'carol' } }
  await rig.send(eventList(auditEvent('a', then + 1_000, carol)))
  // The time of the deletion is unknown, so neither of the two requests is nearer to it.
  deepEqual((await rig.why('cm-a')).told, [])
})

test('what was deleted while nothing was seen is probably of the only one who asked for that name, and leads to the root', async (t) => {
  let behind = 60_000
  const rig = await rigFor(t, { behindMs: () => behind })
  behind = 0
  for (const line of ['delete pod/y', 'delete rs/x', 'delete deploy/web', 'delete cm/b']) {
    await rig.tell(line)
  }
  const then = Date.now() - 30_000
  const asked = (
    auditID: string,
    resource: string,
    name: string,
    more: AuditFields,
  ): AuditFields => {
    const apiGroup = resource === 'pods' || resource === 'configmaps' ? '' : 'apps'
    const objectRef = { apiGroup, resource, namespace: 'ns', name, apiVersion: 'v1' }
    return auditEvent(name, then, { auditID, objectRef, ...more })
  }
  const kcm = 'kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/60a317e'
  const collector = {
    user: { username: 'admin' },
    userAgent: `${kcm}/generic-garbage-collector`,
  }
  await rig.send(
    eventList(
      asked('1', 'deployments', 'web', { user: { username: 'alice' } }),
      asked('2', 'replicasets', 'x', collector),
      asked('3', 'pods', 'y', collector),
      asked('4', 'pods', 'y', { user: { username: 'system:node:n1' } }),
      asked('5', 'configmaps', 'b', { user: { username: 'bob' } }),
    ),
  )
  deepEqual((await rig.why('pod-y')).told, [
    ...['name-and-time admin pod-y 0', 'name-and-time admin rs-x 0'],
    'name-and-time alice deploy-web 0',
  ])
  deepEqual((await rig.why('cm-b')).told, ['name-and-time bob cm-b 0'])
  // A user may act by another client, and then it is unknown which of them it was.
  await rig.send(eventList(asked('6', 'pods', 'y', { user: { username: 'admin' } })))
  deepEqual((await rig.why('pod-y')).told, [])
  await rig.send(eventList(asked('7', 'configmaps', 'b', { user: { username: 'carol' } })))
  deepEqual((await rig.why('cm-b')).told, [])
})

test('of what a list did not have any more the only one who asked for the name since it was seen is probable', async (t) => {
  const rig = await rigFor(t)
  const begun = Date.now()
  const bob = { user: { username: 'bob' } }
  const collection: AuditFields = {
    ...{ auditID: 'all', verb: 'deletecollection', ...bob },
    objectRef: { resource: 'configmaps', namespace: 'ns', apiVersion: 'v1' },
  }
  await rig.tell('lose cm/a')
  await rig.tell('lose cm/b')
  await rig.tell('relist cm')
  // It was seen since then.
  await rig.send(eventList(auditEvent('a', begun - 60_000, { auditID: '1' })))
  deepEqual((await rig.why('cm-a')).told, [])
  equal(await perhaps(rig, 'cm-a'), 'alice 0')
  await rig.send(eventList(auditEvent('a', Date.now(), { auditID: '2' })))
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
  equal(await perhaps(rig, 'cm-a'), undefined)
  await rig.send(eventList(auditEvent('', Date.now(), collection)))
  deepEqual(await rig.deleters('cm-b'), ['collection-and-time bob cm-b 0'])
  // Of two who asked neither is nearer: the time of the deletion is not known.
  deepEqual((await rig.why('cm-a')).told, [])
  equal(await perhaps(rig, 'cm-a'), 'alice 0')
})

test('perhaps it was who asked for the name while it existed, and nobody who asked before, or again', async (t) => {
  const rig = await rigFor(t)
  const now = Date.now()
  const created = Math.floor(now / 1_000) - 60
  const asked = (name: string, at: number, username: string): AuditFields =>
    auditEvent(name, at, { auditID: `${name}${username}`, user: { username } })
  await rig.tell(`put cm/later [created:${created}]`)
  await rig.tell('delete cm/later')
  await rig.send(eventList(asked('later', created * 1_000 - 10_000, 'before')))
  deepEqual(await rig.why('cm-later'), { told: [], partial: '' })
  equal(await perhaps(rig, 'cm-later'), undefined)
  await rig.send(eventList(asked('later', created * 1_000 + 10_000, 'carol')))
  equal(await perhaps(rig, 'cm-later'), 'carol 0')
  await rig.send(eventList(asked('later', created * 1_000 + 20_000, 'dave')))
  equal(await perhaps(rig, 'cm-later'), 'dave 1')
  const deletions = await fetch(`${rig.url}/v1/deletions?by=dave`)
  deepEqual(((await deletions.json()) as DeletionList).deletions, [])
  await rig.tell('hide cm/a [deleting x.io/hold]')
  await rig.tell('relist cm', now - 600_000)
  await rig.send(eventList(asked('a', now, 'again')))
  deepEqual((await rig.why('cm-a')).told, [])
  equal(await perhaps(rig, 'cm-a'), undefined)
})

/** Of a deletion whose user is not known: whose request had the name, and how many others did. */
async function perhaps({ url }: Pick<Rig, 'url'>, uid: string): Promise<string | undefined> {
  const { deletion } = (await (await fetch(`${url}/v1/why?uid=${uid}`)).json()) as Why
  const { user, others } = deletion?.unproven ?? {}
  return user === undefined ? undefined : `${user} ${others}`
}

const POD = { resource: 'pods', namespace: 'ns', name: 'y', apiVersion: 'v1' }
const EVICTION: AuditFields = {
  ...{ auditID: 'evict', verb: 'create', objectRef: { ...POD, subresource: 'eviction' } },
  responseStatus: { code: 201 },
}
const ALL_PODS: AuditFields = {
  ...{ auditID: 'all', verb: 'deletecollection' },
  objectRef: { resource: 'pods', namespace: 'ns', apiVersion: 'v1' },
}
/** A kubelet deletes each pod with its uid when its containers have ended. */
const KUBELET: AuditFields = {
  ...{ auditID: 'kubelet', user: { username: 'system:node:n1' } },
  objectRef: { ...POD, uid: 'pod-y' },
}
const asks: readonly (readonly [string, AuditFields, match: string])[] = [
  ['an eviction', EVICTION, 'name-and-time'],
  ['a delete of the collection', ALL_PODS, 'collection-and-time'],
]

for (const [what, asked, how] of asks) {
  test(`where ${what} is followed by a delete with the uid, that one is not said to have begun it`, async (t) => {
    const rig = await rigFor(t)
    await rig.tell('put pod/y <- rs/x [deleting]')
    const now = Date.now()
    await rig.tell('delete pod/y')
    await rig.send(eventList(auditEvent('y', now + 30_000, KUBELET)))
    deepEqual(await rig.deleters('pod-y'), [])
    await rig.send(eventList(auditEvent('y', now, asked)))
    deepEqual(await rig.deleters('pod-y'), [`${how} alice pod-y 0`])
    // The grace period may be short: a kubelet ends what another one asked to delete.
    await rig.send(eventList(auditEvent('y', now + 1_300, KUBELET)))
    deepEqual(await rig.deleters('pod-y'), [`${how} alice pod-y 0`])
  })

  test(`where ${what} came before a delete with the uid, and no time is known, nobody is named`, async (t) => {
    const rig = await rigFor(t)
    await rig.tell('lose pod/y')
    await rig.tell('relist pod')
    const at = Date.now() - 300_000
    await rig.send(eventList(auditEvent('y', at + 30_000, KUBELET)))
    deepEqual(await rig.deleters('pod-y'), ['uid system:node:n1 pod-y 0'])
    await rig.send(eventList(auditEvent('y', at, asked)))
    // A delete of the collection has no name either.
    if (asked === EVICTION)
      await isUnproven(rig, 'pod-y', 'alice asked to delete a Pod of the name y')
    else deepEqual(await rig.deleters('pod-y'), [])
  })
}

test('a deletion that had begun long before it was seen has no time by which somebody is guessed', async (t) => {
  const rig = await rigFor(t)
  const begun = Date.now() - 600_000
  await rig.tell('hide cm/a [deleting x.io/hold]')
  await rig.tell('relist cm', begun)
  const now = Date.now()
  await rig.send(eventList(auditEvent('a', now, { user: { username: 'bob' }, auditID: 'again' })))
  await isUnproven(rig, 'cm-a', 'bob asked to delete a ConfigMap of the name a at ')
  const uid = { resource: 'configmaps', namespace: 'ns', name: 'a', uid: 'cm-a' }
  await rig.send(eventList(auditEvent('a', begun, { level: 'Request', objectRef: uid })))
  deepEqual(await rig.deleters('cm-a'), ['uid alice cm-a 0'])
  // One that is seen at once has.
  await rig.tell('put cm/b [deleting x.io/hold]')
  await rig.send(eventList(auditEvent('b', Date.now())))
  deepEqual(await rig.deleters('cm-b'), ['name-and-time alice cm-b 0'])
})

test('what may have been a dry run is never certain, also where it says the uid', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const now = Date.now()
  const dry: AuditFields = {
    ...{ level: 'RequestResponse', requestURI: '/api/v1/namespaces/ns/configmaps/a?dryRun=All' },
    responseObject: { kind: 'ConfigMap', metadata: { uid: 'cm-a' } },
  }
  await rig.send(eventList(auditEvent('a', now - 600_000, dry)))
  deepEqual(await rig.deleters('cm-a'), [])
  await rig.send(eventList(auditEvent('a', now, dry)))
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
})

test('as others that fit as well count those who delete the collection, or act as another user', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const now = Date.now()
  const as = { auditID: 'as', impersonatedUser: { username: 'carol' } }
  const bob = { verb: 'deletecollection', user: { username: 'bob' } }
  const objectRef = { resource: 'configmaps', namespace: 'ns', apiVersion: 'v1' }
  await rig.send(
    eventList(
      auditEvent('a', now),
      auditEvent('a', now + 2_000, as),
      auditEvent('', now, { ...bob, objectRef }),
    ),
  )
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 2'])
})

test('who deleted an object before it was restored is not said to have deleted it since', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const uid = { resource: 'configmaps', namespace: 'ns', name: 'a', uid: 'cm-a' }
  await rig.send(eventList(auditEvent('a', Date.now() - 2_000, { objectRef: uid })))
  deepEqual(await rig.deleters('cm-a'), ['uid alice cm-a 0'])
  await rig.tell('rollback')
  await rig.tell('put cm/a')
  deepEqual(await rig.deleters('cm-a'), [], 'it exists')
  await rig.tell('delete cm/a')
  deepEqual(await rig.deleters('cm-a'), [])
  const deletions = await (await fetch(`${rig.url}/v1/deletions?limit=9`)).json()
  const rows = (deletions as { deletions: { deletedBy: { user: string } | null }[] }).deletions
  deepEqual(
    rows.map(({ deletedBy }) => deletedBy?.user),
    ['alice', undefined],
  )
})

test('of what hangs together the answer goes up to who deleted the owner', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete deploy/web')
  await rig.tell('delete rs/x')
  const objectRef = { apiGroup: 'apps', resource: 'deployments', namespace: 'ns', name: 'web' }
  await rig.send(eventList(auditEvent('web', Date.now(), { objectRef })))
  deepEqual(await rig.deleters('pod-y'), ['name-and-time alice deploy-web 0'])
})

test('who deleted an owner is told to nobody who may not get that owner', async (t) => {
  const rig = await rigFor(t, { hidden: 'Deployment' })
  await rig.tell('delete deploy/web')
  await rig.tell('delete rs/x')
  const ref = { apiGroup: 'apps', resource: 'deployments', namespace: 'ns', name: 'web' }
  await rig.send(eventList(auditEvent('web', Date.now(), { objectRef: ref })))
  deepEqual(await rig.deleters('pod-y'), [])
})

test('an Audit-ID is certain where it is the id of a command that was no dry run', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('policy enforce parity')
  await rig.tell('delete deploy/web')
  const response = await fetch(`${rig.url}/v1/why?uid=rs-x`)
  const { history } = (await response.json()) as Why
  const auditID = history.find(({ change }) => change === 'command')?.command
  ok(auditID)
  await rig.tell('delete rs/x')
  const ref = { apiGroup: 'apps', resource: 'replicasets', namespace: 'ns', name: 'x' }
  const fields = { auditID, objectRef: ref, user: { username: 'kinfold' } }
  // Observed long before: only the event itself can say that it is this one.
  const at = Date.now() - 60_000
  const requestURI = '/apis/apps/v1/namespaces/ns/replicasets/x?dryRun=All'
  await rig.send(eventList(auditEvent('x', at, { ...fields, requestURI })))
  deepEqual(await rig.deleters('rs-x'), [])
  await rig.send(eventList(auditEvent('x', at + 1, fields)))
  deepEqual(await rig.deleters('rs-x'), ['audit-id kinfold rs-x 0'])
})

test('the same event told twice is one, and no other process or restart makes it two', async (t) => {
  const first = await rigFor(t)
  const event = auditEvent('a', Date.now())
  await first.tell('delete cm/a')
  for (const _ of [1, 2, 3]) equal((await first.send(eventList(event, event))).status, 200)
  const told = ['name-and-time alice cm-a 0']
  deepEqual(await first.deleters('cm-a'), told)
  const keys = async (store: Store) =>
    (await store.page({ gte: 'of/', lt: 'of0', limit: 10 })).rows.length
  equal(await keys(first.actorStore), 1)
  // Another process builds its index from the log; one that starts again continues its own.
  const { log, actorStore } = first
  const other = await rigFor(t, { log })
  deepEqual(await other.deleters('cm-a'), told)
  equal(await keys(other.actorStore), 1)
  const again = await rigFor(t, { log, actorStore })
  deepEqual(await again.deleters('cm-a'), told)
})

test('an Audit-ID that a client uses for many requests hides none of them', async (t) => {
  const rig = await rigFor(t)
  const now = Date.now()
  await rig.tell('delete cm/a')
  await rig.tell('delete cm/b')
  const auditID = 'the-same'
  await rig.send(eventList(auditEvent('a', now, { auditID }), auditEvent('b', now, { auditID })))
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
  deepEqual(await rig.deleters('cm-b'), ['name-and-time alice cm-b 0'])
})

test('any process takes events, and each answers from them', async (t) => {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const [one, two] = [await group.start(), await group.start()]
  await tell(group.log, eventsOf(['put cm/a', 'delete cm/a']))
  await group.caughtUp()
  const response = await fetch(`${one.url}/v1/why?uid=cm-a`)
  const { history } = (await response.json()) as Why
  const at = Date.parse(history.at(-1)?.at ?? '')
  for (const [index, { url }] of [one, two].entries()) {
    const auditID = String(index)
    const sent = await fetch(url + PATH, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(eventList(auditEvent('a', at, { auditID }))),
    })
    equal(sent.status, 200, await sent.text())
  }
  for (const { url } of [one, two]) {
    deepEqual(await deletersAt(url, 'cm-a'), ['name-and-time alice cm-a 0'])
  }
  equal(one.forwarded().count + two.forwarded().count > 0, true, 'why is sent on')
})

test('what cannot be understood is refused with what to do', async (t) => {
  const { send, url } = await rigFor(t)
  const cases: readonly (readonly [Promise<Response>, RegExp])[] = [
    [send('{"kind":'), /^400 the body is not valid JSON/],
    [send(''), /^400 the body is not valid JSON/],
    [send('[]'), /^400 the body is not valid JSON/],
    [send({ kind: 'List' }), /^400 expected an EventList or an event of audit\.k8s\.io\/v1/],
    [send('x', { headers: { 'content-type': 'text/plain' } }), /^415 the body must be JSON/],
    [send(eventList(), { path: `${PATH}?clustr=c` }), /^400 there is no parameter clustr/],
    [send(eventList(), { path: `${PATH}?cluster=x` }), /^404 there is no cluster x/],
    [send(eventList(), { headers: { origin: 'http://evil' } }), /^403 no audit events are taken/],
  ]
  for (const [response, expected] of cases) match(await refusal(await response), expected)
  // As kube-apiserver sends it.
  equal((await send(eventList(), { path: `${PATH}?timeout=30s` })).status, 200)
  equal((await fetch(url + PATH)).status, 405)
})

/** As a user without any right sends it: 900 KB of query, refused. */
function hugeRefusal(index: number): AuditFields {
  const query = `x=${'%41'.repeat(300_000)}`
  return auditEvent(`none-${index}`, Date.now(), {
    requestURI: `/api/v1/namespaces/ns/configmaps/none-${index}?${query}`,
    ...{ user: { username: 'mallory' }, responseStatus: { code: 403 } },
  })
}

test('T1: sixteen requests of 900 KB by a user without a right cost nobody a name', async (t) => {
  const rig = await rigFor(t)
  const now = Date.now()
  for (const name of ['a', 'b']) await rig.tell(`delete cm/${name}`)
  const huge = Array.from({ length: 16 }, (_, index) => hugeRefusal(index))
  const batch = eventList(auditEvent('a', now), ...huge, auditEvent('b', now))
  const response = await rig.send(batch)
  equal(response.status, 200)
  const { received, kept, overShare, unreadable } = (await response.json()) as AuditFields
  deepEqual([received, kept, overShare, unreadable], [18, 2, 0, 0])
  for (const name of ['a', 'b']) {
    deepEqual(await rig.deleters(`cm-${name}`), [`name-and-time alice cm-${name} 0`])
  }
})

const LONG = 'x'.repeat(900_000)
const texts: readonly (readonly [string, AuditFields])[] = [
  ['query', { requestURI: `/api?${LONG}` }],
  ['client', { userAgent: LONG }],
  ['group', { user: { groups: [LONG], username: 'alice' } }],
  ['extra field', { user: { extra: { [LONG]: [LONG] }, username: 'alice' } }],
  ['Audit-ID', { auditID: LONG }],
  ['annotation', { annotations: { [LONG]: LONG } }],
  ['body', { requestObject: { kind: 'DeleteOptions', x: LONG } }],
  ['deep answer', { responseObject: { kind: 'X', spec: `${'['.repeat(9_000)}` } }],
]

for (const [what, more] of texts) {
  test(`T1: whoever deletes with a ${what} of 900 KB is named all the same`, async (t) => {
    const rig = await rigFor(t)
    await rig.tell('delete cm/a')
    const response = await rig.send(eventList(auditEvent('a', Date.now(), more)))
    equal(((await response.json()) as AuditFields)['kept'], 1)
    deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
  })
}

test('a query whose end was cut may say that it is a dry run', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const objectRef = { resource: 'configmaps', namespace: 'ns', name: 'a', uid: 'cm-a' }
  await rig.send(eventList(auditEvent('a', Date.now(), { requestURI: `/?${LONG}`, objectRef })))
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
})

test('of an event that an API server truncated the name is kept', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  // As --audit-webhook-truncate-enabled does: without bodies, and with a note.
  const annotations = { 'audit.k8s.io/truncated': 'true' }
  const level = 'RequestResponse'
  await rig.send(eventList(auditEvent('a', Date.now(), { level, annotations })))
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
})

test('an item that is no event costs no other one, and is said', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const response = await rig.send(eventList(7, { stage: 1 }, auditEvent('a', Date.now()), null))
  equal(response.status, 200)
  const { kept, unreadable, partial } = (await response.json()) as AuditFields
  deepEqual([kept, unreadable, partial], [1, 3, '3 items were no audit event'])
  const { told, partial: doubt } = await rig.why('cm-a')
  deepEqual(told, ['name-and-time alice cm-a 0'])
  match(doubt, /^names of \S+Z to \S+Z are incomplete: events of the audit log could not be read$/)
})

test('what was read of a body that breaks off is kept, and the rest is said to be missing', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const whole = JSON.stringify(eventList(auditEvent('a', Date.now()), auditEvent('b', Date.now())))
  const half = whole.slice(0, whole.indexOf('id-b'))
  match(await refusal(await rig.send(half)), /^400 the body is not valid JSON/)
  const { told, partial } = await rig.why('cm-a')
  deepEqual(told, ['name-and-time alice cm-a 0'])
  match(partial, /could not be read/)
  // So is one whose sender is away.
  const { port } = new URL(rig.url)
  const sender = connect(Number(port), '127.0.0.1')
  const head = `POST ${PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n`
  sender.end(`${head}content-length: ${whole.length}\r\n\r\n${whole.slice(0, -2)}`)
  await rig.tell('delete cm/b')
  await eventually('what it had sent is kept', async () => {
    const { told: now } = await rig.why('cm-b')
    return now.length === 1 || `${now.length} are named`
  })
})

test('a list of any length is taken in pieces, and in the memory of a few', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const body = async function* (): AsyncIterable<Uint8Array> {
    yield Buffer.from('{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[')
    const watch = JSON.stringify(auditEvent('w', Date.now(), { verb: 'watch', requestURI: LONG }))
    for (let each = 0; each < 40; each++) yield Buffer.from(`${watch},`)
    yield Buffer.from(`${JSON.stringify(auditEvent('a', Date.now()))}]}`)
  }
  const init = { body: ReadableStream.from(body()), duplex: 'half' } as RequestInit
  const response = await rig.send('', init)
  deepEqual(((await response.json()) as AuditFields)['received'], 41)
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
})

test('T20: what is above the share of one user costs that user alone, and is said', async (t) => {
  const rig = await rigFor(t, { auditKeptADay: 100 })
  for (const name of ['a', 'b']) await rig.tell(`delete cm/${name}`)
  const now = Date.now()
  const mallory = { user: { username: 'mallory' }, objectRef: { ...POD, namespace: 'evil' } }
  const flood = Array.from({ length: 500 }, (_, index) =>
    auditEvent('y', now, { ...mallory, auditID: `flood-${index}` }),
  )
  const response = await rig.send(eventList(...flood, auditEvent('a', now), ...flood))
  equal(response.status, 200)
  const { kept, overShare, partial } = (await response.json()) as AuditFields
  deepEqual([kept, overShare], [101, 900])
  equal(partial, "900 requests were above their users' shares of a day")
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
  // Of this namespace nothing is missing. Beside those of one that floods itself, others are kept.
  const own = { user: { username: 'mallory' } }
  const here = Array.from({ length: 500 }, (_, index) =>
    auditEvent('z', now, { ...own, auditID: `here-${index}` }),
  )
  await rig.send(eventList(...here, auditEvent('b', now)))
  const { told, partial: doubt } = await rig.why('cm-b')
  deepEqual(told, ['name-and-time alice cm-b 0'])
  match(doubt, /^names of \S+Z to \S+Z are incomplete: requests of mallory in namespace ns above/)
  const listed = await (await fetch(`${rig.url}/v1/deletions?by=alice&limit=9`)).json()
  const deletions = listed as { partial: string; deletions: { name: string }[] }
  match(deletions.partial, /requests of mallory in namespace ns above their share were not kept/)
  deepEqual(new Set(deletions.deletions.map(({ name }) => name)), new Set(['a', 'b']))
})

test('T20: a thousand accounts of one namespace have one share', async (t) => {
  const rig = await rigFor(t, { auditKeptADay: 100 })
  await rig.tell('delete cm/a')
  const now = Date.now()
  const flood = Array.from({ length: 1_000 }, (_, index) => {
    const username = `system:serviceaccount:evil:a${index}`
    return auditEvent('y', now, { user: { username }, auditID: `flood-${index}` })
  })
  const response = await rig.send(eventList(...flood, auditEvent('a', now)))
  const { kept, overShare } = (await response.json()) as AuditFields
  deepEqual([kept, overShare], [101, 900])
  deepEqual((await rig.why('cm-a')).told, ['name-and-time alice cm-a 0'])
})

test("T21: requests that delete nothing are nobody's share", async (t) => {
  const rig = await rigFor(t, { auditKeptADay: 1 })
  await rig.tell('delete cm/a')
  const now = Date.now()
  const dryRun = { requestObject: { kind: 'DeleteOptions', dryRun: ['All'] } }
  for (const more of [
    dryRun,
    { responseStatus: { code: 403 } },
    { responseStatus: { code: 404 } },
  ]) {
    const flood = Array.from({ length: 50 }, () => auditEvent('a', now, more))
    const response = await rig.send(eventList(...flood))
    const { kept, overShare } = (await response.json()) as AuditFields
    deepEqual([kept, overShare], [0, 0])
  }
  await rig.send(eventList(auditEvent('a', now)))
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
})

test('T21: ten days of what a day may add are kept, so nobody pushes out a week of names', () => {
  ok(10n * BigInt(KEPT_A_DAY) <= MOST_KEPT)
})

test('T8: a thousand requests before it, and after it, hide nobody who did it', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const now = Date.now()
  const mallory = { username: 'mallory' }
  const flood = (at: number, of: string): AuditFields[] =>
    Array.from({ length: 1_005 }, (_, index) =>
      auditEvent('a', at + index, { user: mallory, auditID: `${of}-${index}` }),
    )
  await rig.send(eventList(...flood(now - 1_800_000, 'before'), ...flood(now + 10_000, 'after')))
  match((await rig.why('cm-a')).partial, /^more requests were about configmaps ns\/a than are read/)
  await rig.send(eventList(auditEvent('a', now, { user: { username: 'user-b' } })))
  const { told, partial } = await rig.why('cm-a')
  deepEqual(told, ['name-and-time user-b cm-a 0'])
  match(partial, /^more requests were about configmaps ns\/a than are read/)
})

test('T8: requests about other objects of that name are not even read', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const now = Date.now()
  const ref = { resource: 'configmaps', namespace: 'ns', name: 'a' }
  const flood = [
    { ...ref, resource: 'secrets' },
    { ...ref, uid: 'former' },
  ].flatMap((objectRef) =>
    Array.from({ length: 1_005 }, (_, index) =>
      auditEvent('a', now - index, { objectRef, auditID: String(index) }),
    ),
  )
  await rig.send(eventList(...flood, auditEvent('a', now, { user: { username: 'user-b' } })))
  deepEqual(await rig.deleters('cm-a'), ['name-and-time user-b cm-a 0'])
})

test('T8: with more users than are read it is said that another one may have done it', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const now = Date.now()
  const users = Array.from({ length: 300 }, (_, index) => ({
    username: `system:serviceaccount:evil:${index}`,
  }))
  await rig.send(eventList(...users.map((user) => auditEvent('a', now, { user }))))
  match((await rig.why('cm-a')).partial, /^more requests were about configmaps ns\/a than are read/)
})

test('a word that means something in JavaScript spoils no list', async (t) => {
  const { send } = await rigFor(t)
  const body = JSON.stringify(eventList(auditEvent('a', Date.now()))).replace(
    '"annotations":{',
    '"requestObject":{"data":{"__proto__":{"x":1}},"constructor":{"prototype":{}}},"annotations":{',
  )
  const response = await send(body)
  equal(((await response.json()) as AuditFields)['kept'], 1)
})

test('a token of a cluster is for its own events, and for nothing else', async (t) => {
  const tokens = `c ${TOKEN}\nnorth ${OTHER}\n`
  const rig = await rigFor(t, { tokens, isGuarded: true })
  const send = (token: string, path = PATH): Promise<Response> =>
    rig.send(eventList(), { path, ...bearer(token) })
  equal((await send(TOKEN)).status, 200)
  equal((await send(TOKEN, `${PATH}?cluster=test`)).status, 200)
  match(await refusal(await send(TOKEN, `${PATH}?cluster=x`)), /^403 .*of cluster c alone/)
  match(await refusal(await send(OTHER)), /^404 no cluster of this token's name, north/)
  match(await refusal(await send('neither-of-them-at-all')), /^401 /)
  match(await refusal(await rig.send(eventList())), /^401 /)
  equal((await send(HTTP)).status, 200)
  for (const path of ['/v1/clusters', '/v1/why?uid=cm-a', '/v1/history', '/metrics']) {
    equal((await fetch(rig.url + path, bearer(TOKEN))).status, 401, path)
  }
  const order = await rig.send({ verb: 'pause' }, { path: '/v1/directives', ...bearer(TOKEN) })
  equal(order.status, 401)
})

test('one token of two clusters, or a line that is none, ends the start', (t) => {
  for (const text of ['', 'c', `c ${TOKEN} x`, `c short`, `c ${TOKEN}\nd ${TOKEN}`]) {
    let message = ''
    try {
      openClusterTokens(fileOf(t, text))
    } catch (error) {
      message = String(error)
    }
    match(message, /must hold 1 to 512 lines, each the name or id of a cluster, a space/)
  }
})

/** What CloudWatch Logs gives to Data Firehose. */
function firehose(...messages: readonly string[]): object {
  const delivery = {
    ...{ messageType: 'DATA_MESSAGE', logGroup: '/aws/eks/a/cluster' },
    logStream: 'kube-apiserver-audit-0a1b',
    logEvents: messages.map((message) => ({ id: '0', timestamp: Date.now() - 3_600_000, message })),
  }
  const data = gzipSync(JSON.stringify(delivery)).toString('base64')
  return { requestId: 'r', timestamp: Date.now(), records: [{ data }] }
}

test('Data Firehose delivers with the token as its key, and is answered as it expects', async (t) => {
  const rig = await rigFor(t, { tokens: `test ${TOKEN}\n`, isGuarded: true })
  const { log } = rig
  const event = JSON.stringify({ ...auditEvent('a', Date.now()), kind: 'Event' })
  const headers = { 'x-amz-firehose-access-key': TOKEN, 'x-amz-firehose-request-id': 'r' }
  const response = await rig.send(firehose(event, 'no JSON'), { headers })
  equal(response.status, 200)
  const { timestamp, ...answer } = (await response.json()) as { timestamp: number }
  deepEqual(answer, { requestId: 'r' })
  ok(timestamp > 1_700_000_000_000)
  // The event, and the five minutes of an hour ago of which one is missing.
  const { entries } = await log.read('actors', 0, 0n, { limit: 10, waitMs: 0 })
  const records = entries.map(({ value }) => codec.decode(value as Buffer) as { type: string })
  deepEqual(records.map(({ type }) => type).toSorted(), ['Actor', 'ActorGap'])
  const gap = records.find(({ type }) => type === 'ActorGap') as unknown as { to: number }
  ok(gap.to < Date.now() - 3_000_000, 'the gap is where the message was written')
  const wrong = { ...headers, 'x-amz-firehose-access-key': OTHER }
  equal((await rig.send(firehose(event), { headers: wrong })).status, 401)
  equal((await fetch(`${rig.url}/v1/why?uid=cm-a`, { headers })).status, 401)
})

test('what Pub/Sub pushes is taken; of several clusters the one that is named', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const entry = {
    ...{ logName: 'projects/p/logs/x', timestamp: new Date().toISOString(), insertId: 'i' },
    resource: { labels: { project_id: 'p', location: 'l', cluster_name: 'a' } },
    protoPayload: {
      ...{ serviceName: 'k8s.io', methodName: 'io.k8s.core.v1.configmaps.delete' },
      resourceName: 'core/v1/namespaces/ns/configmaps/a',
      authenticationInfo: { principalEmail: 'alice' },
    },
  }
  const push = { message: { data: Buffer.from(JSON.stringify(entry)).toString('base64') } }
  const sent = await rig.send(push, { path: `${PATH}?source=p/l/b` })
  deepEqual([sent.status, ((await sent.json()) as AuditFields)['kept']], [200, 0])
  deepEqual(await rig.deleters('cm-a'), [])
  equal((await rig.send(push, { path: `${PATH}?source=p/l/a` })).status, 200)
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
})

test('where the log is away an API server is told to send it again', async (t) => {
  const rig = await rigFor(t)
  rig.log.isAway = true
  const response = await rig.send(eventList(auditEvent('a', Date.now())))
  equal(response.headers.get('retry-after'), '10')
  match(await refusal(response), /^503 the log cannot be written, send it again/)
  // It may never be sent again, so that it was there is said.
  rig.log.isAway = false
  await rig.tell('delete cm/a')
  equal((await rig.send(eventList())).status, 200)
  match(
    (await rig.why('cm-a')).partial,
    /are incomplete: events of the audit log could not be read/,
  )
  await rig.tell('delete deploy/web')
  match((await rig.why('rs-x')).partial, /are incomplete/)
  // It is there, so no tree of it says who deleted anything.
  const tree = await fetch(`${rig.url}/v1/tree?uid=rs-x`)
  equal(((await tree.json()) as AuditFields)['partial'], '')
})

test('what the log did not take is said, though another request of the cluster succeeds meanwhile', async (t) => {
  const rig = await rigFor(t)
  const { promise: held, resolve } = Promise.withResolvers<void>()
  rig.log.held = held
  const first = rig.send(eventList(auditEvent('b', Date.now())))
  await eventually('the first is being appended', async () => rig.log.held === undefined)
  rig.log.isAway = true
  equal((await rig.send(eventList(auditEvent('a', Date.now())))).status, 503)
  rig.log.isAway = false
  resolve()
  equal((await first).status, 200)
  await rig.tell('delete cm/a')
  equal((await rig.send(eventList())).status, 200)
  match((await rig.why('cm-a')).partial, /are incomplete/)
})

test('that names of so long ago are not kept any more is said', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  const [first, second] = [auditEvent('a', Date.now()), auditEvent('b', Date.now())]
  await rig.send(eventList(first))
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
  await rig.send(eventList(second))
  await rig.log.trim('actors', 0, 1n)
  await eventually('it is forgotten', async () => (await rig.why('cm-a')).told.length === 0)
  match((await rig.why('cm-a')).partial, /^names of deletions before \S+Z are not kept any more$/)
})

test('what is older than it is kept for is in neither log nor index', async (t) => {
  const rig = await rigFor(t)
  await rig.tell('delete cm/a')
  await rig.send(eventList(auditEvent('a', Date.now())))
  deepEqual(await rig.deleters('cm-a'), ['name-and-time alice cm-a 0'])
  const clock = systemClock()
  const later = { ...clock, now: () => clock.now() + 2 * KEEP_MS }
  const { log, actorStore: store } = rig
  const actors = new ActorIndex({ log, codec, clock: later, store, keepMs: KEEP_MS })
  const stop = new AbortController()
  const running = actors.run(stop.signal)
  const left = async (): Promise<string> =>
    (await store.page({ gte: '!', lt: '~', limit: 10 })).rows.map(([key]) => key).join()
  // The time of the newest event of the cluster's log is kept, too.
  await eventually('all but its position is forgotten', async () => {
    const keys = await left()
    return keys === 'at/actors,newest/c' || keys
  })
  stop.abort()
  await running
  const { start, end } = await log.bounds('actors', 0)
  ok(start === end && end > 0n)
  deepEqual(await rig.deleters('cm-a'), [])
})
