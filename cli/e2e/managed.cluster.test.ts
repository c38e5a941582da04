/**
 * As docs/start/managed.md has it: beside upstream's collector, in mode observe, with an account
 * that may read and nothing else.
 *
 * What must stay true: no request of ours but reads and reviews; the other collector's deletions
 * are explained.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { kubectlEach } from '../../testing/cluster/account.ts'
import { auditArgs, auditEvents } from '../../testing/cluster/audit-log.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { KinfoldProcess } from '../../testing/process/kinfold-process.ts'
import {
  CONFIG_MAP,
  DEPLOYMENT,
  type Made,
  make,
  makeAll,
  REPLICA_SET,
  remove,
  untilGone,
} from '../../testing/process/objects.ts'

const KINDS = 'configmaps,deployments.apps,replicasets.apps'
const DEPENDENTS = 20

interface Counted {
  readonly agreed: number
  readonly theirs: number
  readonly ours: number
}

const skip = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl')

suite("beside a managed cluster's collector", { skip: skip ?? false }, () => {
  let folder: string
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let leaves: readonly Made[]

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kinfold-managed-'))
    plane = await startControlPlane({ apiserverArgs: await auditArgs(folder) })
    await plane.startControllerManager({ collector: true })
    const printed = await runKinfold(['rbac', '--kinds', KINDS, '--service', 'observe'])
    equal(printed.code, 0, printed.stderr)
    await kubectlEach(plane, 'apply', printed.stdout)
    // As docs/start/managed.md says (C15, C16): the account's own file, and the kinds that it was
    // given.
    const [kubeconfig, list] = [join(folder, 'observe.kubeconfig'), join(folder, 'rbac.yaml')]
    await writeFile(list, printed.stdout)
    const account = await runKinfold(['kubeconfig', '--kubeconfig', plane.kubeconfig])
    equal(account.code, 0, account.stderr)
    await writeFile(kubeconfig, account.stdout, { mode: 0o600 })
    const checked = await runKinfold([
      ...['doctor', '--service', 'observe', '--kubeconfig', kubeconfig, '--kinds', `@${list}`],
      ...['--data', join(folder, 'none')],
    ])
    match(checked.stdout, /looked as system:serviceaccount:kinfold:kinfold-observe$/m)
    equal(checked.code, 0, checked.stdout)
    const flags = ['--mode', 'observe', '--kinds', `@${list}`]
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold'), flags })
    const root = await make(plane, { kind: DEPLOYMENT, name: 'web' })
    const [set] = await makeAll(plane, [{ kind: REPLICA_SET, name: 'web-1', owners: [root] }])
    ok(set)
    const drafts = Array.from({ length: DEPENDENTS }, (_, index) => {
      return { kind: CONFIG_MAP, name: `web-1-${index}`, owners: [set] }
    })
    leaves = await makeAll(plane, drafts)
    await eventually('all are observed', async () => {
      const unseen = (await kinfold.verdicts(leaves)).filter((verdict) => verdict !== 'keep')
      return unseen.length === 0 || `${unseen.length} are ${unseen[0]}`
    })
    // What is deleted before that is not compared.
    await eventually('shadow has begun', async () => {
      const asked = ['shadow', '--data', kinfold.data, '-o', 'json']
      const { code, stdout, stderr } = await runKinfold(asked)
      if (code !== 0) return `exit code ${code}: ${stderr}`
      return (JSON.parse(stdout) as { since: string | null }).since !== null || stdout
    })
    await remove(plane, root)
    await untilGone(plane, [set, ...leaves])
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test('why says what became of each object, and shadow agrees with the other collector', async () => {
    const { data } = kinfold
    await eventually('shadow has counted all', async () => {
      const { code, stdout } = await runKinfold(['shadow', '--data', data, '-o', 'json'])
      const [counted] = (JSON.parse(stdout) as { clusters: readonly Counted[] }).clusters
      const { agreed, theirs, ours } = counted ?? {}
      const isAll = code === 0 && agreed === DEPENDENTS + 1 && theirs === 0 && ours === 0
      return isAll || `exit code ${code}: ${stdout}`
    })
    const told = await runKinfold(['why', `uid:${leaves[0]?.uid}`, '--data', data])
    equal(told.code, 0, told.stderr)
    ok(/deleted/.test(told.stdout), told.stdout)
  })

  test('reads, and changes nothing', async () => {
    const ours = await auditEvents(folder, 'kinfold')
    const writes = ours.filter(({ verb, requestURI }) => {
      const isReview = /\/selfsubject(access)?reviews/.test(requestURI)
      const isRead = ['get', 'list', 'watch'].includes(verb)
      // By the administrator's own command.
      const isToken = requestURI.endsWith('/kinfold-observe/token')
      return !isRead && !isReview && !isToken
    })
    ok(ours.length > 10, `${ours.length} requests`)
    deepEqual(
      writes.map(({ verb, requestURI }) => `${verb} ${requestURI}`),
      [],
    )
  })
})
