/**
 * `kinfold rbac`: prints accounts, rights and the second lock, for kinds that are listed or that a
 * cluster serves now.
 *
 * What must stay true: it changes nothing; a kind is in what it prints only by its name, so no
 * account has rights for kinds that come later until they are listed.
 */
import { type Command, Option } from 'commander'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { Cluster, DiscoveredKind, Discovery } from '../../ports/cluster.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { EVERYTHING, whyNotWatched } from '../../services/watcher/kind/catalog.ts'
import { type UpConfig, upConfig } from '../config/config.ts'
import { listedKinds, splitList } from '../config/listed-kind.ts'
import { type KnownKinds, protectedKinds } from '../config/protected-kind.ts'
import { bad } from '../config/setting.ts'
import { type ListedKind, nameOf } from '../print/kind-name.ts'
import { yaml } from '../print/yaml.ts'
import { type LockRules, lockManifests } from './lock-policy.ts'
import { type Manifest, type RightsOf, reaps, roleManifests, usernameOf } from './role-manifest.ts'

interface RbacFlags {
  readonly kubeconfig?: string
  readonly context?: string
  readonly kinds?: string
  readonly ignoreKinds?: string
  readonly fromCluster?: boolean
  readonly namespace: string
  readonly onlyNamespaces?: string
  readonly protectKinds?: string
  readonly protectNamespaces?: string
  readonly othersMarks: boolean
  readonly cleanupPolicies?: boolean
  readonly service: RightsOf | 'all'
  readonly output: 'yaml' | 'json'
  readonly config?: string
}

/** What all that is printed is about. */
interface Listing {
  /** To collect. */
  readonly kinds: readonly ListedKind[]
  /** To protect. */
  readonly known: KnownKinds
  /** By name; empty where no cluster was asked. */
  readonly clusterScoped: ReadonlySet<string>
}

const CALL_MS = 15_000
/** As the API server bounds names of namespaces. */
const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
/**
 * Never collected: they hold no objects, or the lock itself, which admission policies do not guard.
 */
const NEVER_GROUPS: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
])
/** Long expressions stay on one line, and nothing refers to something above it. */
const PLAIN = { lineWidth: 0, aliasDuplicateObjects: false } as const
/** There before anybody applies what is printed here. */
const GIVEN_NAMESPACES: ReadonlySet<string> = new Set(['default', 'kube-system'])

export function addRbac(program: Command): void {
  program
    .command('rbac')
    .description('print accounts, rights kind by kind, and the lock against our own mistakes')
    .option('--kinds <list>', 'kinds to collect, as pods,deployments.apps,replicasets.apps')
    .option('--from-cluster', 'all kinds that the cluster serves now, but Secrets')
    .option('--ignore-kinds <list>', 'of these kinds those to leave out')
    .option('--kubeconfig <file>', 'kubeconfig, for --from-cluster')
    .option('--context <name>', 'context, for --from-cluster')
    .option('--namespace <name>', 'namespace of the accounts', 'kinfold')
    .option('--only-namespaces <list>', 'objects may be deleted and patched in these only')
    .option('--protect-kinds <list>', 'kinds of which the lock lets none be deleted')
    .option('--protect-namespaces <list>', 'namespaces in which the lock lets nothing be deleted')
    .option(
      '--cleanup-policies',
      'rights for policies of the cluster, impersonating service accounts among them, and for Pods that are Failed first',
    )
    .option('--no-others-marks', "only kinfold.dev/protected counts, not other tools' marks")
    .addOption(
      new Option(
        '--service <name>',
        'whose accounts: all are watcher and reaper apart; observe, up in mode observe, only reads',
      )
        .choices(['watcher', 'reaper', 'up', 'observe', 'all'])
        .default('all'),
    )
    .addOption(
      new Option('-o, --output <format>', 'yaml or json').choices(['yaml', 'json']).default('yaml'),
    )
    .option('--config <file>', 'YAML file of up or reaper: its kinds, and what it protects')
    .action(async (flags: RbacFlags) => {
      const config = flags.config === undefined ? undefined : upConfig({ config: flags.config })
      const listing = await listingOf(flags, config)
      process.stdout.write(printed(manifestsFor(listing, flags, config), listing.kinds, flags))
      process.exitCode ??= EXIT.ok
    })
}

async function listingOf(flags: RbacFlags, config: UpConfig | undefined): Promise<Listing> {
  const { kinds, fromCluster = false } = flags
  const from = kinds === undefined ? `${flags.config}: kinds` : '--kinds'
  if (!fromCluster && (kinds === 'allowed' || (kinds === undefined && config?.onlyAllowed))) {
    throw bad(
      `${from}: allowed is what an account may see already; list kinds, or take --from-cluster`,
    )
  }
  if (fromCluster && kinds !== undefined) {
    throw bad('--kinds and --from-cluster exclude each other: give one of them')
  }
  const listed = listedKinds({ key: 'kinds', value: kinds ?? config?.kinds ?? undefined, from })
  const ignored = ignoredNames(flags, config)
  const isKept = (kind: ListedKind): boolean => !ignored.has(nameOf(kind))
  if (fromCluster) return await listingServed(flags, isKept)
  if (listed === undefined) {
    throw bad(
      'which kinds? list them (--kinds pods,deployments.apps), or take those that a cluster serves now (--from-cluster)',
    )
  }
  for (const kind of listed) {
    if (!NEVER_GROUPS.has(kind.group)) continue
    throw bad(
      `${from}: ${nameOf(kind)} is never Kinfold's to collect: leave it out; for a rule about use, grant get, list and watch of it yourself`,
    )
  }
  const all = sorted(listed.filter(isKept))
  const known: KnownKinds = {
    kinds: all.map((kind) => ({ ...kind, aliases: [] })),
    areAll: false,
    which: `are listed (${from}), and no right to delete any other is printed: list it there, too, or leave it out`,
  }
  return { kinds: all, known, clusterScoped: new Set() }
}

function ignoredNames(
  { ignoreKinds, config: file }: RbacFlags,
  config: UpConfig | undefined,
): ReadonlySet<string> {
  const value = ignoreKinds ?? (config?.ignoreKinds.length ? config.ignoreKinds : undefined)
  const from = ignoreKinds === undefined ? `${file}: ignoreKinds` : '--ignore-kinds'
  return new Set(listedKinds({ key: 'ignoreKinds', value, from })?.map(nameOf))
}

async function listingServed(
  flags: RbacFlags,
  isKept: (kind: ListedKind) => boolean,
): Promise<Listing> {
  const { openClusters } = await import('../config/clusters.ts')
  const contexts = flags.context === undefined ? [] : [flags.context]
  const [cluster] = openClusters('rbac', flags.kubeconfig, contexts)
  if (cluster === undefined) throw bad('--from-cluster: the kubeconfig names no context')
  try {
    const { kinds, failed } = await discovered(cluster)
    for (const each of failed) {
      process.stderr.write(`${each} cannot be discovered: its kinds are not listed\n`)
      process.exitCode = EXIT.findings
    }
    const clusterScoped = kinds.filter(({ scope }) => scope === 'Cluster')
    return {
      kinds: sorted(
        kinds
          .filter(isTaken)
          .map(({ resource, group }) => ({ resource, group }))
          .filter(isKept),
      ),
      known: {
        kinds: kinds.map(({ resource, group, kind, shortNames }) => {
          return { resource, group, aliases: [kind.toLowerCase(), ...shortNames] }
        }),
        areAll: true,
        which: `cluster ${cluster.name} says it serves: give the plural and its group (kubectl api-resources -o name)`,
      },
      clusterScoped: new Set(clusterScoped.map(nameOf)),
    }
  } finally {
    await cluster[Symbol.asyncDispose]()
  }
}

function isTaken(discovered: DiscoveredKind): boolean {
  const { group, resource, aggregated } = discovered
  return (
    whyNotWatched(discovered, EVERYTHING) === '' &&
    !(group === '' && resource === 'secrets') &&
    !NEVER_GROUPS.has(group) &&
    // The lock is not asked by another API server.
    !aggregated
  )
}

async function discovered(cluster: Cluster): Promise<Discovery> {
  try {
    return await cluster.discover(AbortSignal.timeout(CALL_MS))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ExitError(EXIT.failure, `cluster ${cluster.name} does not say what it serves: ${why}`)
  }
}

function manifestsFor(
  { kinds, known, clusterScoped }: Listing,
  flags: RbacFlags,
  config: UpConfig | undefined,
): readonly Manifest[] {
  const { namespace: place, service } = flags
  checkNamespace('--namespace', place)
  const onlyNamespaces = namespaces(
    '--only-namespaces',
    flags.onlyNamespaces,
    ', which means everywhere',
  )
  const accounts: readonly RightsOf[] = service === 'all' ? ['watcher', 'reaper'] : [service]
  const reapers = accounts.filter(reaps)
  const policies = flags.cleanupPolicies === true
  const failsPods = policies || (config?.rules.some(({ failFirst }) => failFirst) ?? false)
  const options = { kinds, namespace: place, onlyNamespaces, clusterScoped, policies, failsPods }
  const rules: LockRules = {
    usernames: reapers.map((each) => usernameOf(each, place)),
    protectedKinds: protectedKinds(flags.protectKinds, known),
    protectedNamespaces: [
      ...namespaces('--protect-namespaces', flags.protectNamespaces),
      ...(config?.protection.namespaces ?? []),
    ],
    onlyNamespaces,
    othersMarks: flags.othersMarks && (config?.protection.othersMarks ?? true),
    labels: config?.protection.labels ?? [],
    annotations: config?.protection.annotations ?? [],
    mayRemove: config?.mayRemove ?? [],
    annotated: policies ? 'any' : annotatedBy(config?.rules ?? []),
  }
  return [
    ...(GIVEN_NAMESPACES.has(place)
      ? []
      : [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: place } }]),
    ...accounts.flatMap((each) => roleManifests(each, options)),
    ...(reapers.length === 0 ? [] : lockManifests(rules)),
  ]
}

function annotatedBy(rules: readonly Rule[]): readonly string[] {
  return [...new Set(rules.flatMap(({ annotate }) => annotate?.key ?? []))].sort()
}

function namespaces(from: string, value: string | undefined, without = ''): readonly string[] {
  if (value === undefined) return []
  const names = splitList(value, from, without)
  for (const name of names) checkNamespace(from, name)
  return names
}

function checkNamespace(from: string, name: string): void {
  if (!NAMESPACE.test(name)) throw bad(`${from}: ${JSON.stringify(name)} is no namespace`)
}

function sorted(kinds: readonly ListedKind[]): readonly ListedKind[] {
  const byName = new Map(kinds.map((kind) => [nameOf(kind), kind]))
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kind]) => kind)
}

function printed(
  manifests: readonly Manifest[],
  kinds: readonly ListedKind[],
  { output }: RbacFlags,
): string {
  const names = kinds.map(nameOf).join(',')
  if (output === 'json') {
    return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: manifests }, null, 2)}\n`
  }
  const head = [
    '# Printed by kinfold rbac; kubectl apply -f takes it.',
    '# Kinds that come later are not among these: list them, and print and apply this again.',
    `# Give Kinfold the same list: --kinds ${names}`,
  ]
  const documents = manifests.map((manifest) => yaml().stringify(manifest, PLAIN))
  return `${head.join('\n')}\n---\n${documents.join('---\n')}`
}
