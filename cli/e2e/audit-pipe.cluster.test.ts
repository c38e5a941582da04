/**
 * An outage of Kinfold beside upstream's collector, with the audit log of a real API server at
 * level Metadata through a pipe: the pipe goes on with the Kinfold that starts again on the data
 * directory, and what was deleted meanwhile leads to who deleted its root.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import { CONFIG_MAP, make, pathOf, REPLICA_SET, untilGone } from '../../testing/process/objects.ts'

const MAIN = join(import.meta.dirname, '..', 'main.ts')
const POLICY = {
  ...{ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages: ['RequestReceived'] },
  rules: [{ level: 'Metadata', verbs: ['delete', 'deletecollection'] }, { level: 'None' }],
}
/** A heartbeat is missing by then: so long nothing is seen. */
const OUTAGE_MS = 15_000

const skip = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager') ?? false

suite('an outage of Kinfold beside another collector', { skip }, () => {
  test('what was deleted meanwhile leads to its root, by the pipe that went on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kinfold-pipe-'))
    await using resources = new AsyncDisposableStack()
    resources.defer(async () => await rm(folder, { recursive: true, force: true }))
    const [policy, auditLog, data] = ['policy', 'audit.log', 'kinfold'].map((name) =>
      join(folder, name),
    ) as [string, string, string]
    await writeFile(policy, JSON.stringify(POLICY))
    await writeFile(auditLog, '')
    const plane = resources.use(
      await startControlPlane({
        users: [{ name: 'alice', groups: ['system:masters'] }],
        apiserverArgs: [`--audit-policy-file=${policy}`, `--audit-log-path=${auditLog}`],
      }),
    )
    await plane.startControllerManager({ collector: true, clientLimitsLifted: true })
    const options = { kubeconfig: plane.kubeconfig, data, flags: ['--mode', 'observe'] }
    const first = await KinfoldProcess.start(options)
    const root = await make(plane, { kind: REPLICA_SET, name: 'web' })
    const middle = await make(plane, { kind: CONFIG_MAP, name: 'middle', owners: [root] })
    const leaf = await make(plane, { kind: CONFIG_MAP, name: 'leaf', owners: [middle] })
    await eventually('all are observed', async () => {
      const verdicts = await first.verdicts([middle, leaf])
      return verdicts.every((each) => each === 'keep') || verdicts.join()
    })
    const tail = started(resources, 'tail', ['-n', '+1', '-F', auditLog])
    const pipe = started(resources, process.execPath, [
      ...[MAIN, 'audit', 'import', '-', '--data', data],
    ])
    tail.stdout?.pipe(pipe.stdin ?? process.stdout)
    let said = ''
    pipe.stderr?.on('data', (part: Buffer) => {
      said += part.toString()
    })
    // It has sent before the outage.
    const early = await make(plane, { kind: CONFIG_MAP, name: 'early' })
    await removeAsAlice(plane, pathOf(early))
    await untilNamed(first, early.uid, ['alice'])
    await first.stop()
    await setTimeout(OUTAGE_MS)
    await removeAsAlice(plane, pathOf(root))
    await untilGone(plane, [root, middle, leaf])
    const again = resources.use(await KinfoldProcess.start(options))
    await untilNamed(again, leaf.uid, ['admin', 'admin', 'alice'])
    const why = await again.why({ uid: leaf.uid })
    deepEqual(
      [why?.deletion?.root?.uid, why?.deletion?.rootDeletedBy?.user, why?.deletion?.isInferred],
      [root.uid, 'alice', true],
    )
    equal(pipe.exitCode, null)
    match(said, /^no kinfold answers .*; waiting for it, nothing is lost meanwhile\n/)
    const { stdout } = await runKinfold(['why', `uid:${leaf.uid}`, '--data', data])
    match(stdout, /^Deleted between \S+Z and \S+Z.*because.* alice .*deleted ReplicaSet\/web \(inf/)
  })
})

async function removeAsAlice(plane: ControlPlane, path: string): Promise<void> {
  const headers = {
    authorization: `Bearer ${plane.tokenOf('alice')}`,
    'user-agent': 'kubectl/v1.33.0 (linux)',
  }
  equal((await plane.request('DELETE', path, undefined, headers)).status, 200)
}

async function untilNamed(
  kinfold: KinfoldProcess,
  uid: string,
  users: readonly string[],
): Promise<void> {
  await eventually(
    `${users} are named`,
    async () => {
      const told = (await kinfold.why({ uid }))?.deletedBy.map(({ user }) => user) ?? []
      return told.join() === users.join() || told.join()
    },
    { withinMs: 60_000 },
  )
}

function started(
  resources: AsyncDisposableStack,
  binary: string,
  args: readonly string[],
): ChildProcess {
  const child = spawn(binary, args)
  resources.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return child
}
