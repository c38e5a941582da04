/**
 * When a deletion asks, what it makes of the cluster's answer, and that it speaks to no other
 * cluster than that of the plan.
 */
import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ReapAnswer } from '../../ports/cluster.ts'
import type { ExitError } from '../../runtime/lifecycle.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { GraphGroup, tell } from '../../testing/rig/graph-group.ts'
import { eventsOf } from '../../testing/rig/task-rig.ts'
import type { Plan } from '../answer.ts'
import { confirmationFor, identityOf, outcomeOf } from './delete.ts'

const root: Plan['root'] = {
  ...{ group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'web', uid: 'u' },
  ...{ resourceVersion: '7', because: 'x', owners: [], finalizers: [] },
  effect: 'deleted',
}
const cluster = { name: 'north', id: 'c-1', scope: 'north' }

function toldOf(plan: Partial<Plan>, partial = ''): Plan {
  const counts = [{ group: 'apps', kind: 'Deployment', effect: 'deleted', count: 3 }] as const
  const whole: Plan = {
    ...{ apiVersion: 'kinfold/v1', kind: 'Plan', partial: '', asOf: [], cluster },
    ...{ root, cascade: 'background', counts, total: 3, objects: [], holds: [], digest: 'abc' },
    notes: '',
    hidden: 0,
  }
  return { ...whole, ...plan, partial }
}

function count(deleted: number, kept = 0): Partial<Plan> {
  const of = { group: '', kind: 'Pod' }
  const counts = [
    { ...of, effect: 'deleted', count: deleted },
    { ...of, effect: 'kept', count: kept },
  ] as const
  return { counts, total: deleted + kept }
}

test('ten objects take a yes, eleven the name; what is kept does not count', () => {
  equal(confirmationFor(toldOf(count(10, 90)), false, true), 'yes')
  equal(confirmationFor(toldOf(count(11)), false, true), 'name')
  equal(confirmationFor(toldOf(count(11)), true, false), 'none')
})

test('a plan that is not whole takes the name of a person, and no --yes', () => {
  for (const told of [toldOf({ digest: null }), toldOf({ total: null }), toldOf({}, 'lag')]) {
    equal(confirmationFor(told, false, true), 'name')
    throws(() => confirmationFor(told, true, true), { exitCode: 3, message: /plan is incomplete/ })
  }
})

test('where nobody can be asked nothing is deleted', () => {
  const namespace = { ...root, group: '', kind: 'Namespace', namespace: '', name: 'shop' }
  const leftOut = { root: namespace, notes: 'secrets are not counted' }
  equal(confirmationFor(toldOf(leftOut), false, true), 'name')
  throws(() => confirmationFor(toldOf(leftOut), true, true), {
    exitCode: 3,
    message: /^secrets are not counted, and --yes takes a plan that has all/,
  })
  throws(() => confirmationFor(toldOf({}), false, false), { exitCode: 2, message: /add --yes/ })
})

test('that a dependent may be of a kind that is not watched is said, and takes no more', () => {
  equal(confirmationFor(toldOf({ notes: 'secrets are not counted' }), true, false), 'none')
})

test('two plans that are not whole are the same only where all that they say is', () => {
  equal(identityOf(toldOf({})), 'abc')
  const cut = { digest: null, total: null }
  equal(identityOf(toldOf(cut)), identityOf(toldOf(cut)))
  for (const other of [toldOf({ ...cut, ...count(4) }), toldOf(cut, 'lag')]) {
    equal(identityOf(toldOf(cut)) === identityOf(other), false)
  }
})

const unknown = { type: 'Unknown', code: null, transient: true, retryAfterMs: null } as const

for (const [answer, exitCode, message] of [
  [{ type: 'Absent', code: 404 }, 3, /no longer exists/],
  [{ type: 'Conflict', code: 409, reason: 'r' }, 3, /changed .* nothing was deleted \(r\)/],
  [{ type: 'Refused', code: 403, reason: 'r' }, 3, /refused, and nothing was deleted: r/],
  [{ ...unknown, reason: 'cut' }, 4, /whether deployment.apps\/web was deleted is unknown: cut/],
] as const satisfies readonly (readonly [ReapAnswer, number, RegExp])[]) {
  test(`the answer ${answer.type} is exit code ${exitCode}`, () => {
    throws(
      () => outcomeOf(answer, root, 'c-0'),
      (error: ExitError) => {
        match(error.message, message)
        return error.exitCode === exitCode
      },
    )
  })
}

test('nothing but its id is asked of a cluster that is not that of the plan', async (t) => {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start()
  await tell(group.log, eventsOf(['put pod/a']))
  await group.caughtUp()
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const metadata = { name: 'kube-system', uid: 'another' }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata }))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-delete-'))
  t.after(() => {
    server.closeAllConnections()
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const KUBECONFIG = join(folder, 'config')
  writeFileSync(
    KUBECONFIG,
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'mine' },
      clusters: [{ name: 'it', cluster: { server: address } }],
      users: [{ name: 'me', user: {} }],
      contexts: [{ name: 'mine', context: { cluster: 'it', user: 'me', namespace: 'ns' } }],
    }),
    { mode: 0o600 },
  )
  const words = ['delete', 'pod/a', '--yes', '--server', url]
  const byContext = await runKinfold(words, { KUBECONFIG })
  equal(byContext.code, 2)
  match(
    byContext.stderr,
    /there is no cluster another; known clusters.*context "mine" leads to the cluster/,
  )
  const byName = await runKinfold([...words, '--cluster', 'c'], { KUBECONFIG })
  equal(byName.code, 2)
  match(byName.stderr, /has id c, and context "mine" leads to the cluster with id another/)
  deepEqual([...new Set(requests)], ['GET /api/v1/namespaces/kube-system'])
})
