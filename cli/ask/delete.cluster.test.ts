/**
 * Shows on a real API server that a deletion takes what was shown, by the rights of the user who
 * deletes, and nothing that changed meanwhile.
 */
import { deepEqual, doesNotMatch, equal, match } from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
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
  missingOf,
  pathOf,
} from '../../testing/process/objects.ts'

const MAIN = join(import.meta.dirname, '..', 'main.ts')
const skip = missingServers('etcd', 'kube-apiserver')
const noScript =
  spawnSync('script', ['--version']).error === undefined
    ? false
    : 'there is no "script" here, which makes a terminal'

suite('kinfold delete, on a real API server,', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess

  before(async () => {
    plane = await startControlPlane({ users: [{ name: 'reader', groups: ['readers'] }] })
    const { kubeconfig, folder } = plane
    // It deletes nothing by itself: what goes went by the command.
    const flags = ['--mode', 'observe', '--kinds', 'configmaps,namespaces']
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold'), flags })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  const wordsFor = (name: string, ...more: readonly string[]): string[] => [
    ...['delete', `cm/${name}`, '--data', kinfold.data, ...more],
  ]

  async function run(name: string, ...more: readonly string[]): Promise<Ran> {
    return await runKinfold(wordsFor(name, '--kubeconfig', plane.kubeconfig, ...more))
  }

  async function family(name: string, size: number): Promise<readonly Made[]> {
    const { owner, dependents } = await makeFamily(plane, name, size)
    await eventually('the family is seen', async () => {
      const verdicts = await kinfold.verdicts(dependents)
      return verdicts.every((verdict) => verdict !== 'unseen') || verdicts.join()
    })
    return [owner, ...dependents]
  }

  /** On a terminal: `answer` is called once it asks, and says what is typed. */
  async function asked(name: string, answer: () => Promise<string>): Promise<Ran> {
    const words = wordsFor(name, '--kubeconfig', plane.kubeconfig)
    const command = [process.execPath, MAIN, ...words].join(' ')
    const env = { ...process.env, NO_COLOR: '1', TERM: 'xterm' }
    const child = spawn('script', ['-qec', command, '/dev/null'], { env })
    const { promise, resolve, reject } = Promise.withResolvers<Ran>()
    let stdout = ''
    let isAsked = false
    child.stdout.on('data', (chunk) => {
      stdout += chunk
      if (isAsked || !/type its name \(|\(y\/N\) /.test(stdout)) return
      isAsked = true
      answer().then((typed) => child.stdin.write(`${typed}\n`), reject)
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr: '' }))
    return await promise
  }

  test('a dry run shows the plan, and deletes nothing', async () => {
    const all = await family('dry', 2)
    const { code, stdout, stderr } = await run('dry', '--dry-run')
    equal(code, 0, stderr)
    match(stdout, /^Plan: delete ConfigMap\/dry -n default .*\n3 objects:/)
    deepEqual(await missingOf(plane, all), [])
  })

  test('without a terminal and --yes nothing is deleted', async () => {
    const all = await family('alone', 1)
    const { code, stdout, stderr } = await run('alone')
    equal(code, 2, stderr)
    match(stdout, /^Plan: /)
    match(stderr, /standard input is no terminal.* add --yes/)
    deepEqual(await missingOf(plane, all), [])
  })

  test('with --yes the object is deleted, and its dependents are left to the collector', async () => {
    const all = await family('scripted', 2)
    const { code, stdout, stderr } = await run('scripted', '--yes')
    equal(code, 0, stderr)
    match(stdout, /\nconfigmap\/scripted deleted\n$/)
    deepEqual(await missingOf(plane, all), ['scripted'])
  })

  test('the policy is the one that was asked for', async () => {
    const [owner] = await family('orphans', 1)
    const { code, stdout, stderr } = await run('orphans', '--yes', '--cascade', 'orphan')
    equal(code, 0, stderr)
    match(stdout, /\nconfigmap\/orphans is being deleted; to follow it: kinfold cascade uid:/)
    const { body } = await plane.request<{ metadata: { finalizers: string[] } }>(
      'GET',
      pathOf(owner!),
    )
    deepEqual(body.metadata.finalizers, ['orphan'])
    const again = await run('orphans', '--yes')
    equal(again.code, 3)
    match(again.stderr, /configmap\/orphans is being deleted already/)
  })

  test('it takes the rights of the user, not those of Kinfold', async () => {
    const all = await family('theirs', 1)
    const group = 'rbac.authorization.k8s.io'
    const rules = [{ apiGroups: [''], resources: ['configmaps', 'namespaces'], verbs: ['get'] }]
    const role = { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata: { name: 'readers' } }
    const path = `/apis/${group}/v1`
    equal((await plane.request('POST', `${path}/clusterroles`, { ...role, rules })).status, 201)
    const binding = { ...role, kind: 'ClusterRoleBinding' }
    const subjects = [{ kind: 'Group', apiGroup: group, name: 'readers' }]
    const roleRef = { apiGroup: group, kind: 'ClusterRole', name: 'readers' }
    const bound = { ...binding, subjects, roleRef }
    equal((await plane.request('POST', `${path}/clusterrolebindings`, bound)).status, 201)
    const kubeconfig = await plane.kubeconfigOf('reader')
    const { code, stderr } = await runKinfold(
      wordsFor('theirs', '--kubeconfig', kubeconfig, '--yes'),
    )
    equal(code, 3, stderr)
    match(stderr, /the cluster refused, and nothing was deleted: .*"reader" cannot delete/)
    deepEqual(await missingOf(plane, all), [])
  })

  suite('on a terminal', { skip: noScript }, () => {
    test('few objects take a yes, more the name, and another word deletes nothing; each question is readable (C8)', async () => {
      const few = await family('few', 1)
      const no = await asked('few', async () => 'n')
      deepEqual([no.code, await missingOf(plane, few)], [3, []], no.stdout)
      // The question as it is meant, without sequences that were escaped.
      match(no.stdout, /Delete configmap\/few\? \(y\/N\) /)
      doesNotMatch(no.stdout, /u001b/)
      const yes = await asked('few', async () => 'y')
      deepEqual([yes.code, await missingOf(plane, few)], [0, ['few']], yes.stdout)

      const many = await family('many', 10)
      const wrong = await asked('many', async () => 'y')
      match(wrong.stdout, /type its name \(many\)/)
      deepEqual([wrong.code, await missingOf(plane, many)], [3, []], wrong.stdout)
      const right = await asked('many', async () => 'many')
      deepEqual([right.code, await missingOf(plane, many)], [0, ['many']], right.stdout)
    })

    test('what changed while it was asked is a conflict, though no plan shows it', async () => {
      const all = await family('touched', 1)
      const { code, stdout } = await asked('touched', async () => {
        await mergePatch(plane, pathOf(all[0]!), { data: { a: 'b' } })
        return 'y'
      })
      equal(code, 3, stdout)
      match(stdout, /configmap\/touched changed since the plan was shown, and nothing was deleted/)
      deepEqual(await missingOf(plane, all), [])
    })

    test('a dependent that came while it was asked is not taken along', async () => {
      const all = await family('grown', 1)
      const { code, stdout } = await asked('grown', async () => {
        const late = await make(plane, { kind: CONFIG_MAP, name: 'late', owners: [all[0]!] })
        await eventually('it is seen', async () => {
          const [verdict] = await kinfold.verdicts([late])
          return verdict !== 'unseen' || 'unseen'
        })
        return 'y'
      })
      equal(code, 3, stdout)
      match(stdout, /the plan changed since it was shown, and nothing was deleted/)
      deepEqual(await missingOf(plane, all), [])
    })
  })
})
