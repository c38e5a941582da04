/**
 * Shows on a real API server that a pause stops what is under way, that marks and names protect,
 * and that wrong orders end with their exit codes.
 */
import { equal, match } from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Ran, runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  type Made,
  make,
  makeFamily,
  mergePatch,
  pathOf,
  remove,
  SECRET,
  untilGone,
} from '../../testing/process/objects.ts'

const skip = missingServers('etcd', 'kube-apiserver')

suite('orders to a running kinfold', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess

  before(async () => {
    plane = await startControlPlane()
    const { kubeconfig, folder } = plane
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold') })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  const order = async (...args: string[]): Promise<Ran> =>
    await runKinfold([...args, '--data', kinfold.data])
  const deletes = async (): Promise<number> =>
    (await plane.requestCounts()).get('DELETE secrets') ?? 0
  const annotate = async (made: Made, value: string | null): Promise<void> => {
    const body = { metadata: { annotations: { 'kinfold.dev/protected': value } } }
    await mergePatch(plane, pathOf(made), body)
  }
  const because = async (made: Made): Promise<string> =>
    (await kinfold.why(made))?.admission?.because ?? ''

  test('nothing is deleted while it is paused, and all of it once it is resumed', async () => {
    const paused = await order('pause', '--why', 'a test')
    equal(paused.code, 0, paused.stderr)
    match(
      paused.stdout,
      /^Paused all clusters \(.+\), by local:\S+\. No new deletes or updates from 2 s from now\./,
    )
    const { owner, dependents: secrets } = await makeFamily(plane, 'paused', 20, SECRET)
    const before = await deletes()
    await remove(plane, owner)
    await eventually('all are held', async () => {
      const verdicts = await kinfold.verdicts(secrets)
      return verdicts.every((it) => it === 'delete, held by pause') || verdicts.join()
    })
    match(
      await because(secrets[0] as Made),
      /paused by local:\S+ \(a test\); "kinfold resume --why …"/,
    )
    equal(await deletes(), before)
    const resumed = await order('resume', '--why', 'the test goes on')
    equal(resumed.code, 0, resumed.stderr)
    await untilGone(plane, secrets)
    equal(await deletes(), before + 20)
  })

  test('what bears our mark stays for as long as it bears it', async () => {
    const { owner, dependents } = await makeFamily(plane, 'marked', 2, SECRET)
    const [marked, plain] = dependents as [Made, Made]
    await annotate(marked, 'yes')
    await remove(plane, owner)
    await untilGone(plane, [plain])
    await eventually('it is held', async () => {
      const text = await because(marked)
      return /protected by annotation kinfold.dev\/protected/.test(text) || text
    })
    await annotate(marked, null)
    await untilGone(plane, [marked])
  })

  test('what is protected by name stays until that is taken back', async () => {
    const protect = await order('protect', 'label/set=named', '--why', 'a test')
    equal(protect.code, 0, protect.stderr)
    const owner = await make(plane, { kind: CONFIG_MAP, name: 'named' })
    const first = await make(plane, { kind: SECRET, name: 'named', owners: [owner], set: 'named' })
    await remove(plane, owner)
    await eventually('it is held', async () => {
      const text = await because(first)
      return (
        /protected by local:\S+ \(a test\); "kinfold unprotect label\/set=named"/.test(text) || text
      )
    })
    equal((await order('unprotect', 'label/set=named')).code, 0)
    await untilGone(plane, [first])
  })

  const wrong: readonly (readonly [string, readonly string[], number, RegExp])[] = [
    ['a resume without a reason', ['resume'], 2, /required option '--why <text>'/],
    ['nonsense to protect', ['protect', 'everything'], 2, /everything is none of namespace\/NAME/],
    ['an unknown cluster', ['pause', '--cluster', 'moon'], 2, /there is no cluster moon/],
    [
      'an approval of what is not held',
      ['approve', 'ab'.repeat(32), '--why', 'x'],
      3,
      /nothing is held for approval there just now/,
    ],
    ['no name', ['close-breaker', '--cluster', '', '--why', 'x'], 2, /takes a name or id/],
    ['a resource to protect', ['protect', 'kind/secrets'], 2, /kinds are written as in manifests/],
  ]
  for (const [what, args, code, message] of wrong) {
    test(`${what} ends with exit code ${code} and a sentence`, async () => {
      const ran = await order(...args)
      equal(ran.code, code, ran.stderr)
      match(ran.stderr, message)
    })
  }
})
