/**
 * The checks of `kinfold doctor`: permissions kind by kind, clocks, identity, who may read and
 * write files, disk, data format.
 *
 * What must stay true: it changes nothing (the lock is tried by dry runs); each finding says what
 * to do; what is absent is never `ok`. What the account may not do ends no check but the one that
 * needs it.
 */
import { existsSync, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { kubeconfigFiles } from '../../adapters/kubernetes/connection/kubeconfig.ts'
import { openSqliteLog } from '../../adapters/sqlite/log.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { Cluster, DiscoveredKind, NamedResource, Resource } from '../../ports/cluster.ts'
import { ClusterError, STARTS } from '../../ports/cluster.ts'
import { systemClock } from '../../runtime/clock.ts'
import { exposureOf, intrusionInto } from '../../runtime/file-access.ts'
import { checkFoldVersion, foldVersionOf } from '../../services/graph/fold/fold-version.ts'
import { mayWatch } from '../../services/watcher/account-rights.ts'
import { LEASE } from '../../services/watcher/config.ts'
import { type KindKey, kindKey, whyNotWatched } from '../../services/watcher/kind/catalog.ts'
import { type ListedKind, nameOf } from '../print/kind-name.ts'
import { strangerIn } from '../process/copied-data.ts'
import { type DataStart, readStart } from '../process/data-start.ts'
import { clockNote } from '../process/log-time.ts'
import { unwatchedText } from '../process/readiness.ts'
import type { Finding } from './finding.ts'
import { type RightsOf, reaps, verbsOf } from './role-manifest.ts'
import { checkRules } from './rule-rights.ts'

/** What it is asked about. */
export interface Checked {
  /** Null for all that the cluster serves. */
  readonly kinds: readonly ListedKind[] | null
  /** To leave out, by name. */
  readonly ignoreKinds: readonly string[]
  /** Of these only what the account may list and watch. */
  readonly onlyAllowed: boolean
  readonly service: RightsOf
  /** Of the config. */
  readonly rules: readonly Rule[]
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
    findings.push(...(await checkIdentity(cluster)))
    const account = await cluster.whoAmI(limit())
    if (account !== null) findings.push({ state: 'ok', text: `${name}: looked as ${account}` })
    const { kinds, failed, isAggregationKnown } = await cluster.discover(limit())
    const watches = checked.service !== 'reaper'
    if (watches && !isAggregationKnown) {
      findings.push({
        state: 'failed',
        text: `${name}: which kinds another API server answers for is not known, since API services may not be listed; grant list on apiservices.apiregistration.k8s.io, or each object costs a GET more before it is deleted`,
      })
    }
    for (const groupVersion of failed) {
      findings.push({
        state: 'failed',
        text: `${name}: ${groupVersion} cannot be discovered; its objects will not be judged`,
      })
    }
    const listed = checked.kinds?.map(nameOf) ?? null
    const unwatchable = await unversioned(cluster, isAggregationKnown ? kinds : [])
    const { ignoreKinds, onlyAllowed } = checked
    const selection = { kinds: null, ignoreKinds, unwatchable, denied: new Set<KindKey>() }
    const meant = kinds.filter((kind) => listed === null || listed.includes(nameOf(kind)))
    const watchable = meant.filter((kind) => whyNotWatched(kind, selection) === '')
    const denied = onlyAllowed ? await deniedOf(cluster, watchable) : selection.denied
    const reasons = new Map(
      meant.map((kind) => [kind, whyNotWatched(kind, { ...selection, denied })] as const),
    )
    if (onlyAllowed && denied.size === watchable.length) findings.push(nothingAllowed(name))
    const asked = [...reasons].flatMap(([kind, reason]) => (reason === '' ? [kind] : []))
    findings.push(...notServed(name, listed ?? [], [...reasons.keys()]))
    findings.push(...(await checkPermissions(cluster, asked, checked.service)))
    findings.push(...notWatched(name, reasons, listed !== null))
    const { service, rules } = checked
    const checks = { rules, service, served: kinds, watched: asked }
    findings.push(...(await checkRules(cluster, checks, limit)))
    if (service === 'watcher' || service === 'up') findings.push(await checkLease(cluster, service))
    if (reaps(service)) findings.push(await checkLock(cluster))
  } catch (error) {
    findings.push({ state: 'failed', text: `${name}: ${whyOf(error)}` })
  }
  return findings
}

/**
 * Both from one namespace: nothing starts without the right to read it, but all else can be
 * checked.
 */
async function checkIdentity(cluster: Cluster): Promise<Finding[]> {
  const { name } = cluster
  try {
    const id = await cluster.identify(limit())
    const identity: Finding = { state: 'ok', text: `${name}: identity ${id}` }
    return [identity, clockFinding(name, await cluster.clockSkewMs(limit()))]
  } catch (error) {
    if (!(error instanceof ClusterError) || error.code !== 'FORBIDDEN') throw error
    const text = `${name}: identity: may not get the namespace kube-system, by whose uid a cluster says who it is: grant get on namespaces of that name in a ClusterRole`
    return [{ state: 'failed', text }]
  }
}

/** What a watcher would find out, with `--kinds allowed`. */
async function deniedOf(
  cluster: Cluster,
  kinds: readonly DiscoveredKind[],
): Promise<ReadonlySet<KindKey>> {
  const denied = new Set<KindKey>()
  for (let at = 0; at < kinds.length; at += REVIEWS_AT_ONCE) {
    const some = kinds.slice(at, at + REVIEWS_AT_ONCE)
    const each = some.map(async (kind) => {
      if (!(await mayWatch(cluster, kind, limit()))) denied.add(kindKey(kind))
    })
    await Promise.all(each)
  }
  return denied
}

function nothingAllowed(cluster: string): Finding {
  const text = `${cluster}: this account may list and watch no kind over all namespaces; apply what "kinfold rbac --from-cluster --service observe" prints`
  return { state: 'failed', text }
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
    return { state: 'failed', text }
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
  return [{ state: areListed ? 'failed' : 'ok', text }]
}

/**
 * Servers of others that give lists without a resourceVersion: those alone are tried. What cannot
 * be listed for another reason is reported elsewhere.
 */
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
  if (skewMs === null) {
    return {
      state: 'warning',
      text: `${name}: its answers have no date, so the clocks are not compared`,
    }
  }
  const text = `${name}: its clock is ${skewMs} ms from ours`
  if (Math.abs(skewMs) <= SKEW_LIMIT_MS) return { state: 'ok', text }
  const hint = 'set the clocks (NTP), or times in history will mislead'
  return { state: 'failed', text: `${text}; ${hint}` }
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
  const missing = findings.filter(({ state }) => state !== 'ok')
  if (reaps(service) && !(await cluster.mayI('create', EVENTS, limit()))) {
    const text = `${cluster.name}: events: may not create; grant it in a ClusterRole, else users get no warning of references that cannot be resolved`
    missing.push({ state: 'failed', text })
  }
  const fine = findings.length - findings.filter(({ state }) => state !== 'ok').length
  const text = `${cluster.name}: ${fine} of ${findings.length} kinds have all permissions`
  return [{ state: 'ok', text }, ...missing]
}

/** Watchers apart cannot be without theirs; one process for everything works without its own. */
async function checkLease(cluster: Cluster, service: 'watcher' | 'up'): Promise<Finding> {
  const isUp = service === 'up'
  const { namespace, name } = isUp ? STARTS : LEASE
  const asked: NamedResource = { ...LEASES, namespace, name }
  const denied: string[] = []
  for (const verb of LEASE_VERBS) {
    if (!(await cluster.mayI(verb, asked, limit()))) denied.push(verb)
  }
  const lease = `${cluster.name}: lease ${namespace}/${name}`
  if (denied.length === 0) {
    const may = isUp
      ? 'a second process on a copied data directory is noticed'
      : 'watchers may elect one'
    return { state: 'ok', text: `${lease}: ${may}` }
  }
  const why = isUp
    ? 'a second process on a copied data directory is not noticed'
    : 'watchers apart elect one by it'
  return {
    state: isUp ? 'warning' : 'failed',
    text: `${lease}: may not ${denied.join(', ')}; ${why}: grant these on leases.${LEASES.group} of that name in a Role of ${namespace}`,
  }
}

/**
 * Of this account: it concerns no other. Kinfold works without it unless it is required, and
 * nothing refuses its mistakes then.
 */
async function checkLock(cluster: Cluster): Promise<Finding> {
  const lock = `${cluster.name}: lock`
  const answer = await cluster.probeLock(limit())
  if (answer.type === 'Locked') return { state: 'ok', text: `${lock}: in force` }
  const text = `${lock}: not in force for this account: ${answer.reason}`
  return { state: 'warning', text }
}

const LEASE_VERBS = ['get', 'create', 'update'] as const

const LEASES: Resource = {
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
  if (denied.length === 0) return { state: 'ok', text: `${cluster.name}: ${name}` }
  return {
    state: 'failed',
    text: `${cluster.name}: ${name}: may not ${denied.join(', ')}; grant these in a ClusterRole, or leave it out of --kinds: then its objects are not collected`,
  }
}

/** Files that hold credentials, as the settings name them. */
export interface Secrets {
  readonly kubeconfig: string | undefined
  /** Of the endpoint. */
  readonly httpTokens: readonly (string | undefined)[]
}

/**
 * Kinfold does not start with a token that other users may read; it takes a kubeconfig as kubectl
 * does.
 */
export function checkSecrets({ kubeconfig, httpTokens }: Secrets): Finding[] {
  return [
    ...kubeconfigFiles(kubeconfig).map((file) => secretFinding(file, 'the kubeconfig', 'warning')),
    ...httpTokens.flatMap((file) =>
      file === undefined ? [] : [secretFinding(file, 'the token file', 'failed')],
    ),
  ]
}

function secretFinding(file: string, what: string, state: Finding['state']): Finding {
  const about = `${what} ${file}`
  try {
    const exposure = exposureOf(file)
    if (exposure === '') return { state: 'ok', text: `${about}: no other user may read it` }
    return { state, text: `${about}: ${exposure}; run "chmod 600 ${file}"` }
  } catch (error) {
    return { state: 'failed', text: `${about}: ${whyOf(error)}` }
  }
}

export async function checkData(data: string): Promise<Finding[]> {
  const findings: Finding[] = []
  let existing = data
  while (!existsSync(existing) && existing !== dirname(existing)) existing = dirname(existing)
  const { bavail, bsize } = statfsSync(existing)
  const free = bavail * bsize
  const text = `${existing}: ${Math.round(free / 1024 ** 2)} MiB free`
  if (free >= FREE_BYTES) findings.push({ state: 'ok', text })
  else findings.push({ state: 'failed', text: `${text}; leave at least 1 GiB` })
  const intrusion = intrusionInto(data)
  if (intrusion !== '') findings.push({ state: 'warning', text: intrusion })
  if (!existsSync(join(data, 'log'))) {
    return [...findings, { state: 'ok', text: `${data}: no data yet` }]
  }
  return [...findings, ...(await checkLog(data))]
}

async function checkLog(data: string): Promise<Finding[]> {
  const directory = join(data, 'log')
  try {
    await using log = await openSqliteLog({ directory, clock: systemClock(), readOnly: true })
    checkFoldVersion(await foldVersionOf(log, avroCodec()))
    const text = `${data}: format is known, ${log.partitions('events')} partitions, checksums hold`
    // How far the wall clock is ahead of a log that no process writes says nothing.
    log.time.confirmWall()
    const clock = clockNote(log.time)
    if (clock === '') return [{ state: 'ok', text }]
    return [
      { state: 'ok', text },
      { state: 'warning', text: `${data}: the clock: ${clock}` },
    ]
  } catch (error) {
    return [{ state: 'failed', text: `${data}: ${whyOf(error)}` }]
  }
}

/** Whether a cluster shows that the directory was copied and runs twice. */
export async function checkCopies(data: string, clusters: readonly Cluster[]): Promise<Finding[]> {
  const own = await startIn(data)
  if (own === undefined) return []
  const each = clusters.map(async (cluster): Promise<Finding[]> => {
    try {
      const { entries } = await cluster.readStarts(limit())
      const other = strangerIn(entries, own)
      if (other === undefined) return []
      const text = `${cluster.name}: start ${other} is of a copy of ${data}, whose own last one is ${own.start}: where both run, one deletes nothing; end one of them, and remove its directory`
      return [{ state: 'warning', text }]
    } catch {
      // That it is not answered, or may not be asked, is said above.
      return []
    }
  })
  return (await Promise.all(each)).flat()
}

async function startIn(data: string): Promise<DataStart | undefined> {
  const directory = join(data, 'log')
  if (!existsSync(directory)) return undefined
  try {
    await using log = await openSqliteLog({ directory, clock: systemClock(), readOnly: true })
    return await readStart(log)
  } catch {
    return undefined
  }
}

function limit(): AbortSignal {
  return AbortSignal.timeout(CALL_MS)
}
