/**
 * The Lease on the real kube-apiserver: the port's promises, a server that is stopped, and the one
 * right it takes.
 *
 * What must stay true: times are short here, and real.
 */
import { equal, match, ok } from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Exchange } from '../../../ports/exchange.ts'
import { leaseContract } from '../../../ports/lease.contract.ts'
import type { Lease, LeaseWait } from '../../../ports/lease.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { systemRandom } from '../../../runtime/random.ts'
import { missingServers } from '../../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../../testing/cluster/control-plane.ts'
import { bindRole } from '../../../testing/cluster/role.ts'
import { eventually } from '../../../testing/eventually.ts'
import { openUndiciExchange } from '../connection/exchange.ts'
import { loadContexts } from '../connection/kubeconfig.ts'
import { kubernetesLease } from './lease.ts'

const skip = missingServers('etcd', 'kube-apiserver')
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
const NEVER = new AbortController().signal
const NOBODY = (): void => undefined
const SHORT = { durationMs: 4_500, renewDeadlineMs: 3_000, retryMs: 200, callMs: 1_500 }

let plane: ControlPlane
let leases = 0

before(async () => {
  if (skip !== undefined) return
  plane = await startControlPlane({ users: [{ name: 'watcher' }, { name: 'poor' }] })
})
after(() => plane?.[Symbol.asyncDispose]())

/** Counts requests, too. */
class Wire implements Exchange {
  asked = 0
  readonly #exchange: Exchange

  constructor(kubeconfig: string) {
    this.#exchange = openUndiciExchange(loadContexts({ kubeconfig, contexts: [] })[0]!)
  }

  request: Exchange['request'] = (request, signal) => {
    this.asked++
    return this.#exchange.request(request, signal)
  };

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#exchange[Symbol.asyncDispose]())
  }
}

function leaseOver(exchange: Exchange, name: string): Lease {
  const ports = { exchange, clock: systemClock(), random: systemRandom() }
  return kubernetesLease({
    ...ports,
    ...{ holder: 'test', namespace: 'kube-system', name, times: SHORT },
  })
}

leaseContract(
  'a Lease in a kube-apiserver',
  async () => {
    const name = `lease-${++leases}`
    const wires: Wire[] = []
    return {
      candidate: () => {
        const wire = new Wire(plane.kubeconfig)
        wires.push(wire)
        return leaseOver(wire, name)
      },
      until: async (promise) => await promise,
      pass: async () => {
        const before = wires.map(({ asked }) => asked)
        const looked = (wire: Wire, index: number): boolean => wire.asked > (before[index] ?? 0) + 2
        await eventually('all have looked again', async () => wires.every(looked))
      },
      revoke: async () => {
        const type = { 'content-type': 'application/merge-patch+json' }
        const body = { spec: { holderIdentity: 'somebody' } }
        const { status } = await plane.request('PATCH', `${LEASES}/${name}`, body, type)
        equal(status, 200)
      },
      [Symbol.asyncDispose]: async () => {
        await Promise.all(wires.map((wire) => wire[Symbol.asyncDispose]()))
      },
    }
  },
  { skip },
)

test('a Lease is lost while the kube-apiserver hangs, and had again when it runs on', {
  skip: skip ?? false,
  timeout: 60_000,
}, async () => {
  await using wire = new Wire(plane.kubeconfig)
  const lease = leaseOver(wire, 'hanging')
  const held = await lease.acquire(NOBODY, NEVER)
  const epoch = await held.nextEpoch(0, NEVER)
  process.kill(plane.apiserver.pid, 'SIGSTOP')
  try {
    await new Promise<void>((resolve) => {
      held.lost.addEventListener('abort', () => resolve(), { once: true })
    })
    match(String(held.lost.reason), /not renewed for 3000 ms: PUT .* took longer than 1500 ms/)
  } finally {
    process.kill(plane.apiserver.pid, 'SIGCONT')
  }
  await held[Symbol.asyncDispose]()
  const again = await lease.acquire(NOBODY, NEVER)
  ok((await again.nextEpoch(0, NEVER)) > epoch)
  await again[Symbol.asyncDispose]()
})

test('a Lease needs get, create and update on that one name, also to make it', {
  skip: skip ?? false,
  timeout: 60_000,
}, async () => {
  const named = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] }
  const verbs = ['get', 'create', 'update']
  await bindRole(plane, 'watcher', [{ ...named, verbs, resourceNames: ['one-right'] }])
  await bindRole(plane, 'poor', [{ ...named, verbs: ['get'], resourceNames: ['one-right'] }])

  await using rich = new Wire(await plane.kubeconfigOf('watcher'))
  const held = await leaseOver(rich, 'one-right').acquire(NOBODY, NEVER)
  await held.nextEpoch(0, NEVER)
  await held[Symbol.asyncDispose]()

  await using wire = new Wire(await plane.kubeconfigOf('poor'))
  const enough = new AbortController()
  const told = Promise.withResolvers<LeaseWait>()
  const taken = leaseOver(wire, 'one-right').acquire(told.resolve, enough.signal)
  taken.catch(() => undefined)
  const wait = await told.promise
  enough.abort()
  ok(wait.type === 'Failing')
  match(
    wait.reason,
    /^The Lease kube-system\/one-right may not be written, .*grant get, create and update on leases.coordination.k8s.io named one-right in namespace kube-system \(PUT .* 403 Forbidden: .*cannot update/,
  )
})
