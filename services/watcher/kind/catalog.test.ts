/** The effect of two answers of discovery on the watched kinds. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { DiscoveredKind, Discovery } from '../../../ports/cluster.ts'
import type { CatalogChange } from './catalog.ts'
import { catalogOf, compareCatalog, EVERYTHING, unserved } from './catalog.ts'

const ALL_VERBS = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']

function kind(group: string, name: string, rest: Partial<DiscoveredKind> = {}): DiscoveredKind {
  return {
    group,
    kind: name,
    resource: `${name.toLowerCase()}s`,
    scope: 'Namespaced',
    versions: ['v1'],
    verbs: ALL_VERBS,
    aggregated: false,
    ambiguous: false,
    shortNames: [],
    ...rest,
  }
}

function answer(kinds: readonly DiscoveredKind[], failed: readonly string[] = []): Discovery {
  return { kinds, failed, isAggregationKnown: true }
}

/** `+Kind` published as served, `-Kind` missing. */
function show(change: CatalogChange | undefined): string {
  if (change === undefined) return 'no answer'
  const served = change.served.map((served) => `+${served.kind}`)
  return [...served, ...change.missing.map((missing) => `-${missing.kind}`)].join(' ')
}

const pod = kind('', 'Pod')
const job = kind('batch', 'Job')
const cron = kind('batch', 'CronJob')
const before = catalogOf(answer([pod, job]))

const cases: readonly (readonly [string, Discovery, string])[] = [
  ['the same answer changes nothing', answer([job, pod]), ''],
  ['a new kind is served', answer([pod, job, cron]), '+CronJob'],
  ['a kind that is not named is missing', answer([pod]), '-Job'],
  ['an answer without kinds is none', answer([]), 'no answer'],
  ['a failed group stays as it was', answer([pod], ['batch/v1']), ''],
  ['so does the core group', answer([job], ['v1']), ''],
  [
    'a new kind of a group that failed in part is served',
    answer([pod, job, cron], ['batch/v2']),
    '+CronJob',
  ],
  [
    'versions missing from such a group are still served',
    answer([pod, { ...job, versions: [] }], ['batch/v2']),
    '',
  ],
  ['another preferred version is told', answer([pod, { ...job, versions: ['v2', 'v1'] }]), '+Job'],
  ['lost verbs are told', answer([pod, { ...job, verbs: ['get', 'list'] }]), '+Job'],
  ['another short name is told', answer([{ ...pod, shortNames: ['po'] }, job]), '+Pod'],
  ['another scope is told', answer([{ ...pod, scope: 'Cluster' }, job]), '+Pod'],
]

for (const [name, discovery, expected] of cases) {
  test(name, () => {
    equal(show(compareCatalog(before, discovery)), expected)
  })
}

test('what an earlier watcher knew is served anew, or missing', () => {
  const known = new Map([
    ['batch/Job', { group: 'batch', kind: 'Job', resource: 'jobs', shortNames: [] }],
    ['x.io/Gone', { group: 'x.io', kind: 'Gone', resource: 'gones', shortNames: [] }],
    ['y.io/Down', { group: 'y.io', kind: 'Down', resource: 'downs', shortNames: [] }],
  ])
  equal(show(compareCatalog(known, answer([pod, job], ['y.io/v1']))), '+Pod +Job -Gone')
})

test('of short names as many are kept, and as long, as people type', () => {
  const shortNames = ['PO', '', 'x'.repeat(64), ...Array.from({ length: 9 }, (_, at) => `p${at}`)]
  const [first] = catalogOf(answer([{ ...pod, shortNames }])).values()
  deepEqual(first?.shortNames, ['po', 'p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6'])
})

test('kinds are monitored that can be listed, watched and deleted, and are no events', () => {
  const catalog = catalogOf(
    answer([
      pod,
      kind('', 'Event'),
      kind('events.k8s.io', 'Event'),
      kind('mine.io', 'Event'),
      kind('', 'Binding', { verbs: ['create'] }),
      kind('two.io', 'Thing', { ambiguous: true }),
    ]),
  )
  const shown = [...catalog.values()].map(
    ({ group, kind, reason }) => `${group}/${kind}: ${reason}`,
  )
  deepEqual(shown, [
    '/Pod: ',
    '/Event: it is never collected',
    'events.k8s.io/Event: it is never collected',
    'mine.io/Event: ',
    '/Binding: it does not offer list, watch, delete',
    'two.io/Thing: several resources have this kind',
  ])
})

test('only listed kinds are monitored where a list is given', () => {
  const listed = { ...EVERYTHING, kinds: ['pods', 'jobs.batch'] }
  const all = answer([pod, job, cron, kind('other.io', 'Pod')])
  const monitored = [...catalogOf(all, listed).values()].filter((each) => each.monitored)
  deepEqual(
    monitored.map(({ group, resource }) => `${group}/${resource}`),
    ['/pods', 'batch/jobs'],
  )
  equal(catalogOf(all, listed).get('batch/CronJob')?.reason, 'it is not among the kinds listed')
  equal(show(compareCatalog(catalogOf(all), all, listed)), '+CronJob +Pod')
})

test('kinds to ignore, and those that nobody can watch, are not monitored, listed or not', () => {
  const all = answer([pod, job, cron])
  const selection = {
    kinds: ['pods', 'jobs.batch', 'cronjobs.batch'],
    ignoreKinds: ['pods'],
    unwatchable: new Set(['batch/Job']),
    denied: new Set<string>(),
  }
  const reasons = [...catalogOf(all, selection).values()].map(({ reason }) => reason)
  deepEqual(reasons, ['it is among the kinds to ignore', 'its lists have no resourceVersion', ''])
  equal(show(compareCatalog(catalogOf(all), all, selection)), '+Pod +Job')
})

test('what is listed and not served is told, with what may have been meant', () => {
  const all = [pod, job, kind('apps', 'Deployment'), kind('other.io', 'Deployment')]
  const listed = ['pods', 'deployments', 'jobs.batch', 'widgets.example.com', 'things.down.io']
  deepEqual(unserved(answer(all, ['down.io/v1']), listed), [
    'deployments (deployments.apps or deployments.other.io?)',
    'widgets.example.com',
  ])
  deepEqual(unserved(answer(all), null), [])
})

test('two resources of one kind give the same entry in either order', () => {
  const one = kind('two.io', 'Thing', { resource: 'things' })
  const other = kind('two.io', 'Thing', { resource: 'objects' })
  deepEqual([...catalogOf(answer([one, other]))], [...catalogOf(answer([other, one]))])
  equal(catalogOf(answer([one, other])).get('two.io/Thing')?.ambiguous, true)
})
