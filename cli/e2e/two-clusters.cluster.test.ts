/**
 * One of two clusters is restored from a snapshot behind Kinfold's back, loses a kind and gets it
 * back, or has a group whose server is down: nothing is deleted wrongly, it shows, it is over by
 * itself, and the other cluster is collected meanwhile.
 */
import { equal, match, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import {
  CONFIG_MAP,
  kind,
  type Made,
  make,
  makeAll,
  mergePatch,
  missingOf,
  ownersOf,
  pathOf,
  remove,
  SECRET,
} from '../../testing/process/objects.ts'
import { TwoClusters, WATCHED } from '../../testing/process/two-clusters.ts'

const WIDGET = kind('example.com/v1', 'Widget', 'widgets')
const DEFINITION = {
  ...kind('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions'),
  namespaced: false,
  body: {
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
          },
        },
      ],
    },
  },
}
const WIDGETS_NAME = 'widgets.example.com'
const API_SERVICE = '/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com'
/** More revisions than an API server writes of its own when it starts. */
const UNDONE_WRITES = 400
/** Discovery is looked at each half minute. */
const PATIENCE = { withinMs: 120_000 }

const skip = missingServers('etcd', 'kube-apiserver')

suite('one of two clusters', { skip: skip ?? false }, () => {
  let both: TwoClusters

  before(async () => {
    both = await TwoClusters.start()
  })
  after(async () => {
    await both?.[Symbol.asyncDispose]()
  })

  test('restored from a snapshot keeps what came back with it (F9, F10)', async () => {
    const { red, blue, kinfold } = both
    const returned = await both.tree(red, 'returned')
    const snapshot = join(red.folder, 'snapshot')
    await red.snapshot(snapshot)
    await eventually('the API server takes writes again', async () => {
      return (await make(red, { kind: CONFIG_MAP, name: 'written' })).uid !== ''
    })
    await makeAll(
      red,
      Array.from({ length: UNDONE_WRITES }, (_, i) => ({ kind: CONFIG_MAP, name: `undone-${i}` })),
    )
    await both.collect(red, returned)

    await red.restore(snapshot)
    await red.killApiserver()
    await both.goesOn(blue)
    await red.startApiserver()
    await eventually('it is noticed', async () => {
      return (await kinfold.metric('kinfold_watcher_rewinds_total', { cluster: 'red' })) > 0
    })
    equal(await kinfold.metric('kinfold_watcher_rewinds_total', { cluster: 'blue' }), 0)
    await kinfold.ready()
    await both.goesOn(red)
    equal((await missingOf(red, [returned.owner, ...returned.dependents])).join(), '')
    await both.judged(returned.dependents, 'keep')
    await both.assertStays()
    await both.collect(red, returned)
  })

  test('that loses a kind and gets it back keeps what hangs on its new objects (F23)', async () => {
    const { red, blue } = both
    const former = await make(red, DEFINITION_DRAFT)
    await both.says(`synced/red/${WIDGETS_NAME}`, /ok$/)
    const solid = await make(red, { kind: SECRET, name: 'beside-widgets' })
    const widget = await make(red, { kind: WIDGET, name: 'one' })
    const shared = await both.dependentsOf(red, [widget, solid])
    both.stays(red, solid, ...shared)

    await remove(red, former)
    await eventually('the kind is gone', async () => {
      return (await red.request('GET', pathOf(widget))).status === 404
    })
    const again = await make(red, DEFINITION_DRAFT)
    ok(again.uid !== former.uid)
    const other = await eventuallyMade({ kind: WIDGET, name: 'one' })
    ok(other.uid !== widget.uid)
    const dependents = await makeAll(
      red,
      Array.from({ length: 5 }, (_, i) => {
        return { kind: CONFIG_MAP, name: `of-the-new-${i}`, owners: [other] }
      }),
    )
    both.stays(red, ...dependents)
    await both.goesOn(blue)
    await both.goesOn(red)
    await eventually(
      'all is seen again',
      async () => {
        const verdicts = await both.kinfold.verdicts(dependents)
        return verdicts.every((each) => each === 'keep') || verdicts.join()
      },
      PATIENCE,
    )
    await eventually('what names the former one and another is kept by the other', async () => {
      const left = await Promise.all(shared.map((made) => ownersOf(red, made)))
      return left.every((owners) => owners?.includes(solid.name)) || JSON.stringify(left)
    })
    equal((await missingOf(red, [other])).join(), '')
    await both.assertStays()
  })

  test('whose aggregated API is down keeps what hangs on it, and says so (F20)', async () => {
    const { red, blue, kinfold } = both
    const owner = await make(red, { kind: WIDGET, name: 'served-elsewhere' })
    const dependents = await both.dependentsOf(red, [owner])
    await breakApiService()
    await both.says('cluster/red', /^\[!\].*Discovery lacks example.com\/v1/)
    // A watch that is open goes on; one that is opened now does not.
    await red.killApiserver()
    await red.startApiserver()
    // An owner that was never observed while its kind was served.
    const strays = await makeAll(
      red,
      Array.from({ length: 5 }, (_, i) => ({
        kind: CONFIG_MAP,
        name: `stray-${i}`,
        owners: [{ apiVersion: 'example.com/v1', kind: 'Widget', name: 'never', uid: 'never' }],
      })),
    )
    const failed = { cluster: 'red', verb: 'GET', code: '503' }
    await eventually('their owner was looked at, in vain', async () => {
      return (await kinfold.metric('kinfold_delete_requests_total', failed)) > 0
    })
    await both.says('cluster/red', /^\[!\].*Discovery lacks example.com\/v1/)
    await both.goesOn(blue)
    await both.goesOn(red)
    equal((await missingOf(red, [...strays, ...dependents])).join(), '')
    const { stdout } = await runKinfold(['why', `uid:${strays[0]?.uid}`, '--data', both.data])
    match(stdout, /Widget/)

    equal((await red.request('DELETE', API_SERVICE)).status, 200)
    await eventually(
      'it is back',
      async () => (await both.readiness('cluster/red')) === '[+]cluster/red ok',
      PATIENCE,
    )
    await eventually(
      'what never had an owner goes',
      async () => (await missingOf(red, strays)).length === strays.length,
      PATIENCE,
    )
    equal((await missingOf(red, [owner, ...dependents])).join(), '')
    await both.assertStays()
    await kinfold.ready()
    await remove(red, owner)
    await both.gone(red, dependents)
  })

  test('that loses a kind for good has a person decide in guarded what hung on its objects', async () => {
    const { red, blue } = both
    await both.kinfold.stop()
    const kinds = `${WATCHED},customresourcedefinitions.apiextensions.k8s.io`
    await both.up(['--mode', 'enforce', '--preset', 'guarded'], kinds)
    if ((await red.request('GET', DEFINITION_PATH)).status === 404)
      await make(red, DEFINITION_DRAFT)
    await both.says(`synced/red/${WIDGETS_NAME}`, /ok$/)
    const widget = await make(red, { kind: WIDGET, name: 'taken-along' })
    const dependents = await both.dependentsOf(red, [widget])
    const definition = { kind: DEFINITION, namespace: '', name: WIDGETS_NAME }
    await remove(red, { ...definition, uid: '', resourceVersion: '' })
    await eventually(
      'it is seen for a mass cause',
      async () => {
        const whys = await Promise.all(dependents.map((each) => both.kinfold.why(each)))
        const seen = whys.map((why) => `${why?.verdict?.evidence} ${why?.admission?.by}`)
        return seen.every((each) => each === 'bulk approval') || seen.join()
      },
      PATIENCE,
    )
    // A relist in turn, once after a start, makes objects wait for longer whose owner's deletion
    // was observed before it.
    await eventually('the first relist in turn was made', async () => {
      return (await both.kinfold.metric('kinfold_watcher_syncs_total', { cluster: 'blue' })) > 0
    })
    // It takes as long as a person's own delete is held: by then theirs would have gone.
    await both.goesOn(blue)
    equal((await missingOf(red, dependents)).join(), '')
    await both.says('blocked/red/held', /needs approval/)
    await make(red, DEFINITION_DRAFT)
    await both.says(`synced/red/${WIDGETS_NAME}`, /ok$/)
    await both.judged(dependents, 'delete, held by approval')
    equal((await missingOf(red, dependents)).join(), '')
    await both.assertStays()

    const { digest, objects } = await plan()
    const named = new Set(objects.map(({ uid }) => uid))
    equal(dependents.filter(({ uid }) => !named.has(uid)).length, 0)
    const order = ['approve', digest, '--cluster', 'red', '--why', 'as it should be']
    const { code, stdout, stderr } = await runKinfold([...order, '--data', both.data])
    equal(code, 0, stdout + stderr)
    await both.gone(red, dependents)
  })

  test('that loses a kind and gets it back at once has a person decide, too (F23)', async () => {
    const { red, blue } = both
    const widget = await make(red, { kind: WIDGET, name: 'taken-in-passing' })
    const dependents = await both.dependentsOf(red, [widget])
    await remove(red, await made(DEFINITION_PATH))
    await eventually('the definition is made again', async () => {
      return (await make(red, DEFINITION_DRAFT)).uid !== ''
    })
    const again = await eventuallyMade({ kind: WIDGET, name: 'taken-in-passing' })
    ok(again.uid !== widget.uid)
    await both.judged(dependents, 'delete, held by approval')
    const whys = await Promise.all(dependents.map((each) => both.kinfold.why(each)))
    equal([...new Set(whys.map((why) => why?.verdict?.evidence))].join(), 'bulk')
    // It takes as long as a person's own delete is held: by then theirs would have gone.
    await both.goesOn(blue)
    equal((await missingOf(red, dependents)).join(), '')
  })

  test('leaves a log that folds the same again', async () => {
    await both.kinfold.stop()
    const { code, stdout, stderr } = await runKinfold(['audit', 'verify', '--data', both.data])
    equal(code, 0, stdout + stderr)
  })

  /** What waits for a person in red. */
  async function plan(): Promise<{ digest: string; objects: readonly { uid: string }[] }> {
    const asked = ['plan', 'held', '--cluster', 'red', '-o', 'json', '--data', both.data]
    const { code, stdout, stderr } = await runKinfold(asked)
    equal(code, 0, stderr)
    return JSON.parse(stdout)
  }

  /** As it stands on the server. */
  async function made(path: string): Promise<Made> {
    const { status, body } = await both.red.request('GET', path)
    equal(status, 200)
    const { name, uid, resourceVersion } = (body as { metadata: Made }).metadata
    return { kind: DEFINITION, namespace: '', name, uid, resourceVersion }
  }

  const DEFINITION_DRAFT = { kind: DEFINITION, name: WIDGETS_NAME }
  const DEFINITION_PATH = pathOf({ ...DEFINITION_DRAFT, namespace: '' })

  async function eventuallyMade(draft: Parameters<typeof make>[1]): Promise<Made> {
    let made: Made | undefined
    await eventually('the kind is served', async () => {
      made = await make(both.red, draft)
      return true
    })
    return made as Made
  }

  /** As if another server answered for the group, and none did. */
  async function breakApiService(): Promise<void> {
    const { red } = both
    const patch = {
      metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': null } },
      spec: {
        service: { name: 'nowhere', namespace: 'default', port: 443 },
        insecureSkipTLSVerify: true,
      },
    }
    await mergePatch(red, API_SERVICE, patch)
    await eventually('nobody answers for it', async () => {
      return (await red.request('GET', '/apis/example.com/v1/widgets')).status === 503
    })
  }
})
