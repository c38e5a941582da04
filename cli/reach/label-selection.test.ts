/**
 * `kinfold get -l` shows what Kinfold recorded of the objects that their own API server selects,
 * and says what either of the two lacks.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ApiServer } from '../../adapters/memory/api-server.ts'
import type { Event } from '../../core/model/event.ts'
import { ANY_HERE, serveHttp } from '../../playground/http.ts'
import { systemClock } from '../../runtime/clock.ts'
import { systemRandom } from '../../runtime/random.ts'
import { type Ran, runKinfold } from '../../testing/process/kinfold-command.ts'
import { GraphGroup, tell } from '../../testing/rig/graph-group.ts'
import { eventsOf } from '../../testing/rig/task-rig.ts'
import { createLabelSelection } from './label-selection.ts'
import { openOwnCluster } from './own-cluster.ts'

/** Names of pods, their namespaces and labels. */
const PODS = [
  ['a', 'shop', 'web'],
  ['b', 'shop', 'web'],
  ['c', 'shop', 'db'],
  ['d', 'other', 'web'],
] as const

class Rig {
  readonly api = new ApiServer({ clock: systemClock(), random: systemRandom(), name: 'north' })
  readonly #folder: string
  kubeconfig = ''
  server = ''

  constructor(t: TestContext) {
    this.#folder = mkdtempSync(join(tmpdir(), 'kinfold-labels-'))
    t.after(() => rmSync(this.#folder, { recursive: true, force: true }))
  }

  async start(t: TestContext, unrecorded: readonly string[] = []): Promise<this> {
    const face = await serveHttp(this.api, ANY_HERE)
    t.after(async () => await face[Symbol.asyncDispose]())
    const post = async (path: string, body: object): Promise<void> => {
      const headers = { 'content-type': 'application/json' }
      const init = { method: 'POST', headers, body: JSON.stringify(body) }
      equal((await fetch(`${face.url}${path}`, init)).status, 201)
    }
    for (const name of ['shop', 'other']) await post('/api/v1/namespaces', { metadata: { name } })
    for (const [name, namespace, app] of PODS) {
      const spec = { containers: [{ name: 'a', image: 'a' }] }
      const body = { metadata: { name, labels: { app } }, spec }
      await post(`/api/v1/namespaces/${namespace}/pods`, body)
    }
    this.kubeconfig = this.#kubeconfigOf(face.url)
    const story = PODS.filter(([name]) => !unrecorded.includes(name)).map(([name, namespace]) => {
      return `put pod/${name}@${this.uidOf(name, namespace)} in ${namespace}`
    })
    await this.#record(t, [...story, 'put pod/old in shop', 'delete pod/old in shop'])
    return this
  }

  uidOf(name: string, namespace: string): string {
    return this.api.object('', 'pods', namespace, name)?.metadata.uid ?? ''
  }

  get id(): string {
    return this.api.object('', 'namespaces', '', 'kube-system')?.metadata.uid ?? ''
  }

  /** `get` with these words, on this cluster. */
  async get(line: string): Promise<Ran> {
    const { kubeconfig, server } = this
    const words = ['get', ...line.split(' '), '--kubeconfig', kubeconfig, '--server', server]
    return await runKinfold(words)
  }

  /** Requests for lists of pods are answered so, in their order; undefined leaves one as it is. */
  answerLists(...answers: readonly (readonly [code: number, reason: string] | undefined)[]): {
    readonly asked: string[]
  } {
    const asked: string[] = []
    const left = [...answers]
    this.api.inject(({ path }) => {
      if (!/\/pods\?/.test(path)) return undefined
      asked.push(path)
      const next = left.shift()
      if (next === undefined) return undefined
      const [code, reason] = next
      const told = { kind: 'Status', apiVersion: 'v1', code, reason, message: `${reason} it is` }
      const headers = { 'content-type': 'application/json' }
      return { status: code, headers, body: bytesOf(JSON.stringify(told)) }
    })
    return { asked }
  }

  #kubeconfigOf(server: string): string {
    const file = join(this.#folder, 'config')
    const content = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'here' },
      clusters: [{ name: 'here', cluster: { server } }],
      users: [{ name: 'me', user: {} }],
      contexts: [{ name: 'here', context: { cluster: 'here', user: 'me', namespace: 'shop' } }],
    }
    writeFileSync(file, JSON.stringify(content), { mode: 0o600 })
    return file
  }

  async #record(t: TestContext, story: readonly string[]): Promise<void> {
    const group = new GraphGroup(1)
    t.after(async () => await group.stop())
    const { url } = await group.start()
    await tell(group.log, eventsIn(this.id, story))
    await tell(group.log, eventsIn('elsewhere', ['put pod/far in shop']))
    await group.caughtUp()
    this.server = url
  }
}

function eventsIn(cluster: string, story: readonly string[]): readonly Event[] {
  return eventsOf(story).map((event) => {
    return ('cluster' in event ? { ...event, cluster } : event) as Event
  })
}

async function* bytesOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}

function namesIn({ stdout }: Ran): string {
  return stdout.trim().split('\n').join(' ')
}

test('of a namespace, of all, in an order, and none', async (t) => {
  const rig = await new Rig(t).start(t)
  const cases: readonly (readonly [string, string])[] = [
    ['pods -l app=web', 'pod/a pod/b'],
    ['pods -l app=web -A', 'pod/d pod/a pod/b'],
    ['pods --selector app!=web', 'pod/c'],
    ['pods -l app=db,app=web', ''],
    [`pods -l app -n other --cluster ${rig.id}`, 'pod/d'],
    // Both clusters have that name.
    ['pods -l app -n other --cluster test', 'pod/d'],
    ['pods -l app=web --sort-by .metadata.creationTimestamp', 'pod/a pod/b'],
  ]
  for (const [line, names] of cases) {
    const ran = await rig.get(`${line} -o name`)
    deepEqual([ran.code, namesIn(ran), ran.stderr], [0, names, ''], line)
  }
  const document = JSON.parse((await rig.get('pods -l app=web -o json')).stdout)
  deepEqual(
    [document.kind, document.partial, document.objects.map(({ uid }: { uid: string }) => uid)],
    ['ObjectList', '', [rig.uidOf('a', 'shop'), rig.uidOf('b', 'shop')]],
  )
})

test('what the cluster selects and Kinfold has not recorded is counted', async (t) => {
  const rig = await new Rig(t).start(t, ['b', 'd'])
  const ran = await rig.get('pods -l app=web -A -o name')
  deepEqual([ran.code, namesIn(ran)], [0, 'pod/a'])
  match(ran.stderr, /^warning: this may be incomplete: the cluster has 2 more with such labels/)
  const document = JSON.parse((await rig.get('pods -l app=web -o json')).stdout)
  match(document.partial, /^the cluster has 1 more with such labels/)
})

test('a list that expires on the way is begun anew, and one that always does is no answer', async (t) => {
  const rig = await new Rig(t).start(t)
  const expired = [410, 'Expired'] as const
  const { asked } = rig.answerLists(expired, undefined, expired, expired, expired)
  const first = await rig.get('pods -l app=web -o name')
  deepEqual([first.code, namesIn(first), asked.length], [0, 'pod/a pod/b', 2])
  ok(asked.every((path) => path.startsWith('/api/v1/namespaces/shop/pods?limit=500&labelSel')))
  const second = await rig.get('pods -l app=web -o name')
  deepEqual([second.code, second.stdout, asked.length], [4, '', 5])
  match(second.stderr, /-l app=web: which pods have such labels is unknown: .*410 Expired/)
})

test('a refusal of the cluster is passed on, and is no empty list', async (t) => {
  const rig = await new Rig(t).start(t)
  const wrong = await rig.get('pods -l app===web')
  deepEqual([wrong.code, wrong.stdout], [2, ''])
  match(wrong.stderr, /400 BadRequest: unable to parse requirement/)
  rig.answerLists([403, 'Forbidden'])
  const forbidden = await rig.get('pods -l app=web')
  deepEqual([forbidden.code, forbidden.stdout], [4, ''])
  match(forbidden.stderr, /user needs the right to list them: .*403 Forbidden: Forbidden it is/)
})

test('a question that labels of now do not answer is refused', async (t) => {
  const rig = await new Rig(t).start(t)
  const cases: readonly (readonly [string, RegExp])[] = [
    [
      'pods -l app=web --gone',
      /-l takes no NAME, and neither --gone nor --at: Kinfold records no labels/,
    ],
    ['pods -l app=web --at 1h', /-l takes no NAME, and neither --gone nor --at/],
    ['pod a -l app=web', /-l takes no NAME, and neither/],
    ['-l app=web --owned-by uid:a', /--owned-by takes no KIND, and none of -A, --gone, --at and/],
    ['nothing -l app=web', /no cluster that is asked serves a kind nothing/],
    ['pods -l app=web --cluster elsewhere', /has id elsewhere, and context "here" leads to the/],
    ['pods -l app=web --cluster nowhere', /there is no cluster nowhere/],
  ]
  for (const [line, sentence] of cases) {
    const ran = await rig.get(line)
    deepEqual([ran.code, ran.stdout], [2, ''], line)
    match(ran.stderr, sentence)
  }
})

test('more objects than there is room for are refused, and a kind that is no longer served is said', async (t) => {
  const rig = await new Rig(t).start(t)
  await using own = await openOwnCluster('get', { kubeconfig: rig.kubeconfig })
  const labelled = { labels: 'app', namespace: undefined }
  const page = { kinds: ['pods'], objects: [] }
  deepEqual(await createLabelSelection(own, labelled, PODS.length).among(page), [])
  await rejectsWith(createLabelSelection(own, labelled, PODS.length - 1).among(page), /more than 3/)
  const { stdout } = await rig.get(`pods -o json --cluster ${rig.id}`)
  const objects = JSON.parse(stdout).objects
  const unserved = createLabelSelection(own, labelled)
  deepEqual(await unserved.among({ kinds: ['widgets.example.com'], objects }), [])
  equal(
    unserved.partial(),
    'labels of 3 objects are unknown, since the cluster does not serve their kind now',
  )
})

async function rejectsWith(promise: Promise<unknown>, sentence: RegExp): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  match(error instanceof Error ? error.message : '', sentence)
}
