/**
 * The checks of `kinfold doctor`: permissions kind by kind, clocks, identity, disk, data format.
 *
 * What must stay true: it changes nothing (the lock is tried by dry runs); each finding says what to do.
 */
import { existsSync, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { avroCodec } from '../adapters/avro/codec.ts'
import { openSqliteLog } from '../adapters/sqlite/log.ts'
import type { Cluster, DiscoveredKind, NamedResource, Resource } from '../ports/cluster.ts'
import { ClusterError } from '../ports/cluster.ts'
import { systemClock } from '../runtime/clock.ts'
import { checkFoldVersion, foldVersionOf } from '../services/graph/fold/fold-version.ts'
import { type KindKey, kindKey, whyNotWatched } from '../services/watcher/catalog.ts'
import { LEASE } from '../services/watcher/config.ts'
import { type ListedKind, nameOf } from './kind-name.ts'
import { unwatchedText } from './readiness.ts'
import { type RightsOf, verbsOf } from './role-manifest.ts'

export interface Finding {
  readonly ok: boolean
  readonly text: string
}

/** What it is asked about. */
export interface Checked {
  /** Null for all that the cluster serves. */
  readonly kinds: readonly ListedKind[] | null
  /** To leave out, by name. */
  readonly ignoreKinds: readonly string[]
  readonly service: RightsOf
}

/** Beyond this, times in history and in the cluster's objects do not compare. */
const SKEW_LIMIT_MS = 5_000
const FREE_BYTES = 1024 ** 3
const CALL_MS = 10_000
/** Asked at once. */
const REVIEWS_AT_ONCE = 8

export async function checkCluster(cluster: Cluster, checked: Checked): Promise<Finding[]> {
  const { name } = cluster
  const findings: Finding[] = []
  try {
    const id = await cluster.identify(limit())
    findings.push({ ok: true, text: `${name}: identity ${id}` })
    findings.push(clockFinding(name, await cluster.clockSkewMs(limit())))
    const { kinds, failed, isAggregationKnown } = await cluster.discover(limit())
    const watches = checked.service !== 'reaper'
    if (watches && !isAggregationKnown) {
      findings.push({
        ok: false,
        text: `${name}: which kinds another API server answers for is not known, since API services may not be listed; grant list on apiservices.apiregistration.k8s.io, or each object costs a GET more before it is deleted`,
      })
    }
    for (const groupVersion of failed) {
      findings.push({
        ok: false,
        text: `${name}: ${groupVersion} cannot be discovered; its objects will not be judged`,
      })
    }
    const listed = checked.kinds?.map(nameOf) ?? null
    const selection = { kinds: null, ignoreKinds: checked.ignoreKinds }
    const unwatchable = await unversioned(cluster, isAggregationKnown ? kinds : [])
    const reasons = new Map(
      kinds
        .filter((kind) => listed === null || listed.includes(nameOf(kind)))
        .map((kind) => [kind, whyNotWatched(kind, { ...selection, unwatchable })] as const),
    )
    const asked = [...reasons].flatMap(([kind, reason]) => (reason === '' ? [kind] : []))
    findings.push(...notServed(name, listed ?? [], [...reasons.keys()]))
    findings.push(...(await checkPermissions(cluster, asked, checked.service)))
    findings.push(...notWatched(name, reasons, listed !== null))
    if (watches) findings.push(await checkLease(cluster, checked.service))
    if (checked.service !== 'watcher') findings.push(await checkLock(cluster))
  } catch (error) {
    findings.push({ ok: false, text: `${name}: ${whyOf(error)}` })
  }
  return findings
}

function whyOf(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    return `its API server has not answered within ${CALL_MS / 1_000} s; see whether its address is right, and what is between (kubectl get --raw /livez)`
  }
  return error instanceof Error ? error.message : String(error)
}

function notServed(
  cluster: string,
  listed: readonly string[],
  served: readonly DiscoveredKind[],
): Finding[] {
  const names = new Set(served.map(nameOf))
  const missing = listed.filter((name) => !names.has(name))
  return missing.map((kind) => {
    const text = `${cluster}: ${kind}: is listed, and not served; install it, or take it off the list`
    return { ok: false, text }
  })
}

/** By reason. Nothing is amiss, but where a kind is listed that is not watched. */
function notWatched(
  cluster: string,
  reasons: ReadonlyMap<DiscoveredKind, string>,
  areListed: boolean,
): Finding[] {
  const unwatched = [...reasons].flatMap(([{ resource, group }, reason]) =>
    reason === '' ? [] : [{ resource, group, reason }],
  )
  if (unwatched.length === 0) return []
  const text = `${cluster}: not watched, so nothing of these kinds is collected: ${unwatchedText(unwatched)}`
  return [{ ok: !areListed, text }]
}

/** Servers of others that give lists without a resourceVersion: those alone are tried. What cannot be listed for another reason is told elsewhere. */
async function unversioned(
  cluster: Cluster,
  kinds: readonly DiscoveredKind[],
): Promise<ReadonlySet<KindKey>> {
  const found = new Set<KindKey>()
  for (const kind of kinds.filter(
    ({ aggregated, verbs }) => aggregated && verbs.includes('list'),
  )) {
    try {
      await cluster.currentVersion({ ...kind, version: kind.versions[0] ?? '' }, limit())
    } catch (error) {
      if (error instanceof ClusterError && error.code === 'UNVERSIONED') found.add(kindKey(kind))
    }
  }
  return found
}

function clockFinding(name: string, skewMs: number | null): Finding {
  if (skewMs === null) return { ok: true, text: `${name}: the server tells no time` }
  const ok = Math.abs(skewMs) <= SKEW_LIMIT_MS
  const hint = ok ? '' : '; set the clocks (NTP), or times in history will mislead'
  return { ok, text: `${name}: its clock is ${skewMs} ms from ours${hint}` }
}

async function checkPermissions(
  cluster: Cluster,
  kinds: readonly DiscoveredKind[],
  service: RightsOf,
): Promise<Finding[]> {
  const findings: Finding[] = []
  for (let i = 0; i < kinds.length; i += REVIEWS_AT_ONCE) {
    const some = kinds.slice(i, i + REVIEWS_AT_ONCE)
    findings.push(...(await Promise.all(some.map((kind) => checkKind(cluster, kind, service)))))
  }
  const missing = findings.filter(({ ok }) => !ok)
  if (service !== 'watcher' && !(await cluster.mayI('create', EVENTS, limit()))) {
    const text = `${cluster.name}: events: may not create; grant it in a ClusterRole, or nobody is warned of references that nothing can come of`
    missing.push({ ok: false, text })
  }
  const fine = findings.filter(({ ok }) => ok).length
  const summary = {
    ok: true,
    text: `${cluster.name}: ${fine} of ${findings.length} kinds have all permissions`,
  }
  return [summary, ...missing]
}

/** Nothing is amiss without it where one process does everything. */
async function checkLease(cluster: Cluster, service: RightsOf): Promise<Finding> {
  const denied: string[] = []
  for (const verb of LEASE_VERBS) {
    if (!(await cluster.mayI(verb, WATCHER_LEASE, limit()))) denied.push(verb)
  }
  const lease = `${cluster.name}: lease ${LEASE.namespace}/${LEASE.name}`
  if (denied.length === 0) return { ok: true, text: `${lease}: watchers may elect one` }
  return {
    ok: service === 'up',
    text: `${lease}: may not ${denied.join(', ')}; kinfold up needs no lease, but watchers apart do: grant these on leases.${WATCHER_LEASE.group} of that name in a Role of ${LEASE.namespace}`,
  }
}

/** Of this account: it concerns no other. Nothing is amiss without it unless it is required. */
async function checkLock(cluster: Cluster): Promise<Finding> {
  const answer = await cluster.probeLock(limit())
  const state =
    answer.type === 'Locked' ? 'in force' : `not in force for this account: ${answer.reason}`
  return { ok: true, text: `${cluster.name}: lock: ${state}` }
}

const LEASE_VERBS = ['get', 'create', 'update'] as const

const WATCHER_LEASE: NamedResource = {
  ...LEASE,
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  resource: 'leases',
  scope: 'Namespaced',
}

/** Where a warning is posted. */
const EVENTS: Resource = {
  group: '',
  version: 'v1',
  kind: 'Event',
  resource: 'events',
  scope: 'Namespaced',
}

async function checkKind(
  cluster: Cluster,
  kind: DiscoveredKind,
  service: RightsOf,
): Promise<Finding> {
  const resource = { ...kind, version: kind.versions[0] ?? '' }
  const denied: string[] = []
  const { read, change } = verbsOf(service)
  for (const verb of [...read, ...change]) {
    if (!(await cluster.mayI(verb, resource, limit()))) denied.push(verb)
  }
  const name = nameOf(kind)
  if (denied.length === 0) return { ok: true, text: `${cluster.name}: ${name}` }
  return {
    ok: false,
    text: `${cluster.name}: ${name}: may not ${denied.join(', ')}; grant these in a ClusterRole, or leave it out of --kinds: then its objects are not collected`,
  }
}

export async function checkData(data: string): Promise<Finding[]> {
  const findings: Finding[] = []
  let existing = data
  while (!existsSync(existing) && existing !== dirname(existing)) existing = dirname(existing)
  const { bavail, bsize } = statfsSync(existing)
  const free = bavail * bsize
  const text = `${existing}: ${Math.round(free / 1024 ** 2)} MiB free`
  findings.push({
    ok: free >= FREE_BYTES,
    text: free >= FREE_BYTES ? text : `${text}; leave at least 1 GiB`,
  })
  if (!existsSync(join(data, 'log'))) {
    return [...findings, { ok: true, text: `${data}: no data yet` }]
  }
  try {
    await using log = await openSqliteLog({
      directory: join(data, 'log'),
      clock: systemClock(),
      readOnly: true,
    })
    checkFoldVersion(await foldVersionOf(log, avroCodec()))
    findings.push({
      ok: true,
      text: `${data}: format is known, ${log.partitions('events')} partitions, checksums hold`,
    })
  } catch (error) {
    findings.push({ ok: false, text: `${data}: ${error instanceof Error ? error.message : error}` })
  }
  return findings
}

function limit(): AbortSignal {
  return AbortSignal.timeout(CALL_MS)
}
