/**
 * What `kinfold doctor` says of a cluster's kinds: which are not watched, and why, and what an
 * account may not do.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { compileExpression } from '../../adapters/cel/compile.ts'
import { openCluster } from '../../adapters/kubernetes/cluster.ts'
import { ApiServer } from '../../adapters/memory/api-server.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { memoryExchange } from '../../adapters/memory/exchange.ts'
import type { Exchange, ExchangeRequest } from '../../ports/exchange.ts'
import { rulesOf } from '../../ports/rule/rule-config.ts'
import { answered } from '../../testing/rig/watcher-rig.ts'
import { seeded } from '../../testing/seeded.ts'
import { type Checked, checkCluster } from './checkup.ts'
import type { Finding } from './finding.ts'

const EVERYTHING: Checked = {
  ...{ kinds: null, onlyAllowed: false, ignoreKinds: [], service: 'up', rules: [] },
}

const VERBS = ['list', 'watch', 'delete']
const GROUP = {
  metadata: { name: 'x.io' },
  versions: [
    { version: 'v1', resources: [of('odds', 'Odd'), of('as', 'Twice'), of('bs', 'Twice')] },
  ],
}
const API_SERVICE = { spec: { group: 'x.io', version: 'v1', service: { name: 'odd' } } }
const ODDS = { kind: 'OddList', apiVersion: 'x.io/v1', metadata: {}, items: [] }

function of(resource: string, kind: string): object {
  return { resource, responseKind: { kind }, scope: 'Namespaced', verbs: VERBS }
}

/**
 * Beside what the server has: another server, with a kind of two resources, and one whose lists
 * have no resourceVersion.
 */
function exchangeWith(server: ApiServer): Exchange {
  const real = memoryExchange(server)
  const bodyOf = async (request: ExchangeRequest, signal: AbortSignal): Promise<object> => {
    const { body } = await real.request(request, signal)
    return JSON.parse(await new Response(ReadableStream.from(body)).text())
  }
  return {
    async request(request, signal) {
      const { path } = request
      if (path.startsWith('/apis/x.io/v1/')) return answered(200, ODDS)
      if (path.includes('apiservices')) {
        return answered(200, { kind: 'APIServiceList', items: [API_SERVICE] })
      }
      if (path !== '/apis') return await real.request(request, signal)
      const groups = (await bodyOf(request, signal)) as { readonly items: readonly object[] }
      return answered(200, { ...groups, items: [...groups.items, GROUP] })
    },
    [Symbol.asyncDispose]: () => real[Symbol.asyncDispose](),
  }
}

async function findings(checked: Partial<Checked>): Promise<readonly Finding[]> {
  const server = new ApiServer({ clock: new ManualClock(), random: seeded(1), name: 'north' })
  await using cluster = openCluster({ name: 'north', exchange: exchangeWith(server) })
  return await checkCluster(cluster, { ...EVERYTHING, ...checked })
}

function ofUnwatched(all: readonly Finding[]): Finding | undefined {
  return all.find(({ text }) => text.includes('not watched'))
}

const HEAD = 'north: not watched, so nothing of these kinds is collected: '

test('kinds that are served and not watched are named, each with its reason', async () => {
  const found = ofUnwatched(await findings({ ignoreKinds: ['pods'] }))
  equal(found?.state, 'ok')
  const told = found?.text.slice(HEAD.length).split('; ')
  deepEqual(
    told?.filter((each) => !each.includes('it does not offer')),
    [
      'events, events.events.k8s.io: it is never collected',
      'pods: it is among the kinds to ignore',
      'odds.x.io: its lists have no resourceVersion',
      'as.x.io: several resources have this kind',
    ],
  )
})

test('a kind that is listed and not watched is amiss', async () => {
  const kinds = [
    { resource: 'configmaps', group: '' },
    { resource: 'odds', group: 'x.io' },
  ]
  deepEqual(ofUnwatched(await findings({ kinds })), {
    state: 'failed',
    text: `${HEAD}odds.x.io: its lists have no resourceVersion`,
  })
})

test('a kind that may use what a rule calls unused is to be watched, if it is served', async () => {
  const rules = rulesOf(
    [{ builtin: 'unused', match: { kinds: ['Role.rbac.authorization.k8s.io'] } }],
    'f',
    compileExpression,
  )
  const watched = ['roles', 'rolebindings'].map((resource) => {
    return { resource, group: 'rbac.authorization.k8s.io' }
  })
  const ofRule = async (kinds: Checked['kinds']): Promise<readonly Finding[]> => {
    return (await findings({ rules, kinds })).filter(({ text }) => text.includes('rule unused'))
  }
  const [one, ...others] = await ofRule(watched.slice(0, 1))
  deepEqual(others, [])
  equal(one?.state, 'warning')
  match(
    one?.text ?? '',
    /RoleBinding\.rbac\.\S*( \S+)*: not watched, and may use what the rule is about/,
  )
  const [rest] = await ofRule(watched)
  match(rest?.text ?? '', /rule unused: ValidatingAdmissionPolicyBinding\.admission/)
})

/** An account without any right: who the cluster is, it may not read either. */
function denying(server: ApiServer): Exchange {
  const real = memoryExchange(server)
  return {
    async request(request, signal) {
      const { path, method } = request
      if (path === '/api/v1/namespaces/kube-system') return answered(403, {})
      if (path.includes('selfsubjectaccessreviews')) {
        return answered(201, { status: { allowed: false } })
      }
      if (method === 'POST') return answered(403, {})
      return await real.request(request, signal)
    },
    [Symbol.asyncDispose]: () => real[Symbol.asyncDispose](),
  }
}

test('all that an account may not do is named, whatever else it may not', async () => {
  const server = new ApiServer({ clock: new ManualClock(), random: seeded(1), name: 'north' })
  const kinds = ['configmaps', 'pods'].map((resource) => ({ resource, group: '' }))
  for (const [service, verbs] of [
    ['observe', 'get, list, watch'],
    ['up', 'get, list, watch, delete, patch'],
  ] as const) {
    await using cluster = openCluster({ name: 'north', exchange: denying(server) })
    const found = await checkCluster(cluster, { ...EVERYTHING, kinds, service })
    const failed = found.flatMap(({ state, text }) => (state === 'failed' ? [text] : []))
    match(failed[0] ?? '', /^north: identity: may not get the namespace kube-system, .*: grant get/)
    const ofKinds = failed.filter((text) => text.includes(`: may not ${verbs}; grant these`))
    deepEqual(
      ofKinds.map((text) => text.split(': ')[1]),
      ['configmaps', 'pods'],
    )
    equal(found.filter(({ text }) => text.includes(': lease ')).length, service === 'up' ? 1 : 0)
  }
})
