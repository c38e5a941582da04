/**
 * `kinfold restore`: creates again what Kinfold or others deleted, from the archive, with the
 * rights of the user's own kubeconfig.
 *
 * What must stay true: without `--yes` nothing is made; what cannot be restored is named with its
 * reason.
 */
import { type Command, Option } from 'commander'
import { type Identity, isSameIdentity } from '../../core/graph/identity.ts'
import type { Uid } from '../../core/model/object.ts'
import { shellWord } from '../../core/model/text.ts'
import { LogError } from '../../ports/log.ts'
import type { Restorer } from '../../ports/restorer.ts'
import { type ArchiveKey, openArchiveKey } from '../../runtime/archive/archive-key.ts'
import { systemClock } from '../../runtime/clock.ts'
import { EXIT, ExitError, stopSignal } from '../../runtime/lifecycle.ts'
import { KindWords } from '../../services/graph/query/view/kind-word.ts'
import type { ArchivedObject, ArchiveIndex } from '../../services/restore/archive-reader.ts'
import {
  checkKeys,
  gapsText,
  indexArchive,
  readBodies,
} from '../../services/restore/archive-reader.ts'
import { failedDeletes } from '../../services/restore/delete-result.ts'
import { GUARDS, type Guard, guardOf } from '../../services/restore/guarded-kind.ts'
import { unseenText } from '../../services/restore/last-sign.ts'
import { ownersElsewhereOf, type Site } from '../../services/restore/owner-elsewhere.ts'
import { planRestore } from '../../services/restore/restore-plan.ts'
import type { RestoreParts } from '../../services/restore/restore-run.ts'
import { isUnmanaged, type LostOwners, type Step } from '../../services/restore/restore-step.ts'
import { rightsIn } from '../../services/restore/rights.ts'
import type {
  Objects,
  Root,
  RuleSelector,
  Selector,
  ServedAs,
} from '../../services/restore/selection.ts'
import {
  deletedByRule,
  existingAt,
  identityIn,
  rootsOf,
  subtreeOf,
} from '../../services/restore/selection.ts'
import {
  type Kinds,
  kindsOf,
  type Survey,
  servedAs,
  surveyFor,
} from '../../services/restore/survey.ts'
import {
  type ArchiveKeys,
  type Trust,
  untrustedText,
} from '../../services/restore/trusted-record.ts'
import { KINDS_EXAMPLE } from '../config/archive-config.ts'
import { addClusterOptions, collect } from '../config/config.ts'
import { DEFAULT_DATA } from '../config/data-directory.ts'
import { addBrokerOptions } from '../config/kafka-config.ts'
import { bad, moment, oneOf } from '../config/setting.ts'
import { outputOf } from '../print/output.ts'
import {
  type FarRestore,
  type RestoredOf,
  timeOf,
  WHAT_IS_ARCHIVED,
} from '../print/restore-document.ts'
import { objectQuery } from '../reach/client.ts'
import { namespaceOf } from '../reach/scope.ts'
import type { ArchiveSource, SourceFlags } from './archive-source.ts'
import type { AcrossAsked } from './restore-across.ts'
import { adviceFor, limitsOf } from './restore-advice.ts'
import { RESTORE_OUTPUTS, type RestoreReport, reportAs } from './restore-report.ts'

interface RestoreFlags extends SourceFlags {
  readonly kubeconfig?: string
  readonly context?: readonly string[]
  readonly namespace?: string
  /** A user who knows the other commands takes it for theirs. */
  readonly cluster?: string
  readonly fromCluster?: string
  readonly only?: boolean
  readonly at?: string
  readonly rule?: string
  readonly since?: string
  readonly lostOwners: string
  readonly includeControlled?: boolean
  readonly include?: string
  readonly archiveKeyFile?: readonly string[]
  readonly allowPlaintext?: boolean
  readonly dryRun?: string
  readonly yes?: boolean
  readonly output: string
}

const NO_CLUSTER =
  'restore takes no --cluster, since it creates with the rights of your kubeconfig: leave it out, name with --context the context that leads to the cluster, and with --from-cluster the id of another one that it was deleted from'
const HINT =
  'context of the cluster to create it in; further ones lead to clusters with objects that name it as their owner by kinfold.io/owner, or with its own owner'
const LOST_OWNERS: readonly LostOwners[] = ['refuse', 'drop', 'relink']

export function addRestore(program: Command): void {
  const command = program
    .command('restore')
    .description(
      'plan, and with --yes create again, what was deleted of an object and its dependents, from the archive',
    )
    .argument(
      '[object...]',
      'one object: KIND/NAME, KIND NAME or uid:UID; it need not be in the archive itself',
    )
    .option(
      '-n, --namespace <ns>',
      "namespace of the object (default: of the kubeconfig's context, or default)",
    )
    .option('--only', 'the object alone, without its dependents')
    .option(
      '--at <when>',
      'what existed then and was deleted since: a time (2026-01-31T09:30:00Z), or how long ago (24h)',
    )
    .option(
      '--rule <name>',
      'instead of an object: all that this rule had deleted, with their dependents; takes --since',
    )
    .option(
      '--since <when>',
      'of --rule: what was deleted since then; a time, or how long ago (24h)',
    )
    .option(
      '--lost-owners <what>',
      `of owners that neither exist nor are restored: ${LOST_OWNERS.join(', ')}. relink makes the object that has the owner's name now the owner, also of what was restored without it; drop, the last resort, leaves the owner out`,
      'refuse',
    )
    .option(
      '--include-controlled',
      'also what a controller that exists makes by itself, such as the Pods of a ReplicaSet',
    )
    .option(
      '--include <kinds>',
      `also kinds that hand out rights, or have a say in the requests of all, and Secrets: ${GUARDS.join(', ')}; several with commas`,
    )
    .option(
      '--archive-key-file <file>',
      'key that the archive is encrypted with; repeat it where keys were replaced',
      collect,
    )
    .option(
      '--allow-plaintext',
      'also what is not encrypted, though a key is given or other records are encrypted: for what was archived before there was a key. Nothing proves it, so the plan marks each such object',
    )
    .option('--from-cluster <id>', 'uid of kube-system of the cluster that it was deleted from')
    .option('--dry-run [server]', 'have the server check everything, and keep nothing')
    .addOption(new Option('--cluster <name>').hideHelp())
    .option('--yes', 'do it; without this the plan is shown and nothing is done')
    .option('-o, --output <format>', RESTORE_OUTPUTS.join(', '), 'text')
    .option('--data <dir>', `data directory of the log (default: ${DEFAULT_DATA})`)
    .option('--config <file>', 'YAML file with a kafka section; flags win')
  addBrokerOptions(addClusterOptions(command, HINT)).action(restore)
  const parse = command.parseOptions.bind(command)
  command.parseOptions = (args) => parse(withDryRun(args))
}

/**
 * As kubectl reads it, a bare `--dry-run` takes no word that follows for its value. `server` was
 * written as a word of its own before.
 */
function withDryRun(args: readonly string[]): string[] {
  return args.flatMap((arg, at) => {
    if (arg === '--dry-run') return [`${arg}=server`]
    return arg === 'server' && args[at - 1] === '--dry-run' ? [] : [arg]
  })
}

async function restore(words: string[], flags: RestoreFlags): Promise<void> {
  if (flags.cluster !== undefined) throw bad(NO_CLUSTER)
  const output = outputOf(flags.output, RESTORE_OUTPUTS)
  const lost = oneOf(
    { key: 'lostOwners', value: flags.lostOwners, from: '--lost-owners' },
    LOST_OWNERS,
  )
  const dryRun = oneOf({ key: 'dryRun', value: flags.dryRun, from: '--dry-run' }, ['server'])
  const included = includedIn(flags.include)
  const at = moment({ key: 'at', value: flags.at, from: '--at' }, Date.now())
  const asked = askedFor(words, flags)
  const keys = new Map((flags.archiveKeyFile ?? []).map(keyIn))
  const { openArchive, openRestoredClusters } = await import('./archive-source.ts')
  const signal = stopSignal()
  await using clusters = openRestoredClusters(flags.kubeconfig, flags.context ?? [])
  const restorer = clusters.first
  const here = await restorer.identify(signal)
  const source = await openArchive(flags)
  await using log = source.log
  const cluster = flags.fromCluster ?? here
  const trust = { keys, allowPlaintext: flags.allowPlaintext === true }
  const index = await objectsOf(source, { id: cluster, name: restorer.name }, trust, signal)
  const { objects: all, before, namers, gaps, incomplete } = index
  const objects = at === undefined ? all : existingAt(all, Date.parse(at))
  const kinds = await kindsOf(restorer, signal)
  const choosing = { asked, words, flags, kinds, at, before }
  const { of, chosen } = await choose(source, objects, choosing, signal)
  const survey = await surveyFor(chosen, kinds, restorer, signal)
  const controlled = flags.includeControlled === true
  const wishes = { lost: lost ?? 'refuse', controlled, included }
  const chosenAs = { cluster, chosen, root: of.type === 'object' ? of.root.identity : undefined }
  const {
    plans,
    sites,
    partial: lacksFar,
  } = await plansOf(
    { source, here, restorer, others: clusters.others, kinds, survey },
    { ...chosenAs, namers, trust, wishes, at, isOnly: flags.only === true },
    signal,
  )
  const [{ steps }, ...across] = plans
  const planned = plans.flatMap((plan) => plan.steps)
  const failures = await failuresOf(source, planned, signal)
  const rights = await rightsOf(source, planned, keys, signal)
  const about = { id: cluster, name: restorer.name }
  const unseen = await unseenText(log, source.codec, about, systemClock().now())
  const gapped = gapsOf(gaps, asked, chosen)
  const reasons = [incomplete, lacksFar, gapped, failures.unknown, unseen]
  const partial = reasons.filter((reason) => reason !== '').join('; ')
  if (partial !== '') process.stderr.write(`warning: this may be incomplete: ${partial}\n`)
  // Both asked for: the check is what does no harm.
  const does = dryRun !== undefined ? 'checks' : flags.yes === true ? 'makes' : 'plans'
  const report = reportAs(output, {
    ...{ of, from: cluster, into: restorer.name },
    ...{ steps, across, does, failures: failures.reasons, rights, partial },
    marksPlaintext: trust.allowPlaintext,
    advice: [
      ...adviceFor(planned, (uid) => all.has(uid)),
      ...(of.type === 'rule' ? deletedAgain(of.selector) : []),
      ...(does === 'plans' ? limitsOf(planned, of.type === 'rule' || of.isArchived) : []),
    ],
  })
  const isAllOfIt = !plans.some(isLacking)
  if (does === 'plans') {
    report.end()
    process.exitCode = isAllOfIt ? EXIT.ok : EXIT.findings
    return
  }
  const failed = await carryOut(
    { source, plans, sites, keys, report, dryRun: does === 'checks' },
    signal,
  )
  process.exitCode = failed > 0 ? EXIT.failure : isAllOfIt ? EXIT.ok : EXIT.findings
}

/** Not all of it is restored, or not as it was. */
function isLacking({ steps, unplanned }: FarRestore): boolean {
  return unplanned.length > 0 || steps.some((step) => step.type === 'refuse' || isUnmanaged(step))
}

interface Planning {
  readonly source: ArchiveSource
  /** Cluster that is restored into. */
  readonly here: string
  readonly restorer: Restorer
  readonly others: readonly Restorer[]
  readonly kinds: Kinds
  readonly survey: Survey
}

interface Chosen extends Pick<AcrossAsked, 'namers' | 'trust' | 'wishes'> {
  readonly cluster: string
  readonly chosen: readonly ArchivedObject[]
  /** Undefined: no object was asked for. */
  readonly root: Identity | undefined
  readonly at: string | undefined
  /** Without dependents. */
  readonly isOnly: boolean
}

interface Plans {
  /** Of the cluster that is restored into, and of others. */
  readonly plans: readonly [FarRestore, ...FarRestore[]]
  readonly sites: readonly Site[]
  readonly partial: string
}

async function plansOf(
  { source, here: into, restorer, others: restorers, kinds, survey }: Planning,
  { cluster, chosen, root, at, isOnly, ...asked }: Chosen,
  signal: AbortSignal,
): Promise<Plans> {
  const { planAcross, sitesOf, stepsByUid } = await import('./restore-across.ts')
  const others = await sitesOf(restorers, signal)
  const elsewhere = await ownersElsewhereOf(chosen, others, signal)
  const steps = planRestore(chosen, survey, asked.wishes, elsewhere)
  const first = { from: cluster, into: restorer.name, unplanned: [], steps }
  const sites = [{ id: cluster, into, restorer, kinds, steps: stepsByUid(steps) }, ...others]
  if (isOnly) return { plans: [first], sites, partial: '' }
  const owners = [...(root === undefined ? [] : [root]), ...chosen.map(identityIn)]
  const moment = at === undefined ? undefined : Date.parse(at)
  const from = { cluster, owners }
  const { parts, partial } = await planAcross(source, { ...asked, from, sites, at: moment }, signal)
  return { plans: [first, ...parts], sites, partial }
}

interface CarriedOut extends Pick<Plans, 'plans' | 'sites'> {
  readonly source: ArchiveSource
  readonly keys: ArchiveKeys
  readonly report: RestoreReport
  readonly dryRun: boolean
}

/** How many could not be restored. */
async function carryOut(
  { source: { log, codec }, plans, sites, keys, report, dryRun }: CarriedOut,
  signal: AbortSignal,
): Promise<number> {
  const { runAll } = await import('./restore-across.ts')
  const steps = plans.flatMap((plan) => plan.steps)
  // Of a link, too: the owner that is added is one that the archived head names.
  const changing = steps.filter(({ type }) => type === 'create' || type === 'link')
  checkKeys(
    changing.map(({ object }) => object),
    keys,
  )
  const bodies: RestoreParts['bodies'] = async (of) =>
    await readBodies(log, codec, of, keys, signal)
  let failed = 0
  try {
    for await (const { from, restored } of runAll(plans, sites, { bodies, dryRun }, signal)) {
      if (restored.uid === undefined) failed++
      report.add(restored, from)
    }
  } finally {
    report.end()
  }
  return failed
}

/** What was asked for: an object, or what a rule had deleted. */
type Asked = Selector | RuleSelector

function askedFor(words: readonly string[], flags: RestoreFlags): Asked {
  const { rule, since } = flags
  if (rule === undefined) {
    if (since !== undefined) throw bad('--since belongs to --rule: for one object take --at')
    if (words.length > 0) return selectorOf(words, flags)
    throw bad('name an object, as KIND/NAME, or a rule: --rule NAME --since 24h')
  }
  if (words.length > 0) throw bad('--rule is about all that a rule had deleted: name no object')
  if (flags.only === true || flags.at !== undefined) throw bad('--rule takes no --only and no --at')
  const from = moment({ key: 'since', value: since, from: '--since' }, Date.now())
  if (from === undefined) throw bad('--rule takes --since: a time, or how long ago (24h)')
  return { rule, since: Date.parse(from) }
}

interface Choosing {
  readonly asked: Asked
  readonly words: readonly string[]
  readonly flags: RestoreFlags
  readonly kinds: Awaited<ReturnType<typeof kindsOf>>
  readonly at: string | undefined
  readonly before: Objects
}

async function choose(
  source: ArchiveSource,
  objects: Objects,
  { asked, words, flags, kinds, at, before }: Choosing,
  signal: AbortSignal,
): Promise<{ readonly of: RestoredOf; readonly chosen: readonly ArchivedObject[] }> {
  if ('rule' in asked) {
    const carriedOut = await carriedOutOf(source, before, asked, signal)
    const chosen = deletedByRule(objects, carriedOut, asked)
    if (chosen.length > 0) return { of: { type: 'rule', selector: asked }, chosen }
    const records = [...objects.values(), ...carriedOut.values()]
    const named = new Set(records.map(({ rule }) => rule).filter((it) => it !== ''))
    const some =
      named.size === 0 ? 'no rule has' : `these have: ${[...named].slice(0, 10).join(', ')}`
    throw bad(`the archive has nothing that rule ${asked.rule} had deleted since then; ${some}`)
  }
  const roots = await rootsNamed(source, objects, asked, servedAs(kinds))
  const root = onlyRoot(roots, words, at)
  const of = { type: 'object', root, isArchived: isArchived(objects, root) } as const
  return { of, chosen: chosenOf(objects, root, flags) }
}

/** Without those of that rule whose DELETE did not go through: another hand deleted the object. */
async function carriedOutOf(
  source: ArchiveSource,
  before: Objects,
  { rule }: RuleSelector,
  signal: AbortSignal,
): Promise<Objects> {
  const own = [...before.values()].flatMap((object) => (object.rule === rule ? [{ object }] : []))
  const { reasons } = await failuresOf(source, own, signal)
  return new Map([...before].filter(([uid]) => !reasons.has(uid)))
}

function deletedAgain({ rule }: RuleSelector): readonly string[] {
  const suspend = `kinfold rules suspend ${shellWord(rule)}`
  return [`While rule ${rule} is enforced it deletes them again once they are due (${suspend}).`]
}

/** Of the namespaces that are concerned. */
function gapsOf(
  gaps: ArchiveIndex['gaps'],
  selector: Asked,
  chosen: readonly ArchivedObject[],
): string {
  const asked = 'namespace' in selector ? [selector.namespace] : []
  return gapsText(gaps, new Set([...asked, ...chosen.map(({ namespace }) => namespace)]))
}

function keyIn(file: string): readonly [string, ArchiveKey] {
  const key = openArchiveKey(file)
  return [key.id, key]
}

function selectorOf(words: readonly string[], flags: RestoreFlags): Selector {
  const context = flags.context?.[0]
  const namespace = flags.namespace ?? namespaceOf({ kubeconfig: flags.kubeconfig, context })
  const { uid, kind = '', name = '' } = objectQuery(words, { namespace })
  return uid === undefined ? { kind, name, namespace } : { uid }
}

async function objectsOf(
  { log, codec }: ArchiveSource,
  cluster: { readonly id: string; readonly name: string },
  trust: Trust,
  signal: AbortSignal,
): Promise<
  Pick<ArchiveIndex, 'objects' | 'before' | 'namers' | 'gaps'> & { readonly incomplete: string }
> {
  const asked = { cluster: cluster.id, trust }
  const index = await indexArchive(log, codec, asked, signal)
  const { objects, before, namers, gaps, clusters, incomplete: lost } = index
  const broken =
    lost === 0
      ? ''
      : `records of the archive that are not whole, or cannot be read, are left out: ${lost}`
  const reasons = [broken, untrustedText(index.untrusted)]
  const incomplete = reasons.filter((reason) => reason !== '').join('; ')
  if (objects.size > 0) return { objects, before, namers, gaps, incomplete }
  if (incomplete !== '') process.stderr.write(`warning: ${incomplete}\n`)
  const others =
    clusters.size === 0
      ? `it is empty: a Kinfold that runs with --archive ${KINDS_EXAMPLE} archives what others delete of these kinds, in each mode, and in mode enforce all that it deletes itself`
      : `it has some of ${[...clusters].join(', ')}: name one with --from-cluster`
  throw new ExitError(
    EXIT.input,
    `the archive has nothing of the cluster ${cluster.name} (${cluster.id}); ${others}`,
  )
}

/**
 * By short names, too, as the cluster's API server had them. Only for these are the watermarks
 * read: who restores by a kind's name needs no right to them.
 */
async function rootsNamed(
  { log, codec }: ArchiveSource,
  objects: Objects,
  selector: Selector,
  served: ServedAs,
): Promise<readonly Root[]> {
  const found = rootsOf(objects, selector, served)
  if ('uid' in selector || found.length > 0) return found
  const { names } = await new KindWords({ log, codec, clock: systemClock() }).of(selector.kind)
  // Of a reference only the kind is compared.
  const kinds = new Set(names.map((name) => name.split('.')[0] ?? name))
  return [...kinds].flatMap((kind) => rootsOf(objects, { ...selector, kind }, served))
}

function onlyRoot(roots: readonly Root[], words: readonly string[], at: string | undefined): Root {
  const [root, another] = roots
  const asked = words.join(' ')
  const namespace = root === undefined ? namespaceNamed(words) : ''
  if (namespace !== '') {
    throw bad(
      `${asked}: a namespace is in no archive; create it with kubectl, then restore what was in it, object by object: "kinfold deletions -n ${shellWord(namespace)}" lists it`,
    )
  }
  if (root === undefined) {
    const then = at === undefined ? '' : `, that existed at ${at} and was deleted since`
    throw bad(`${asked}: the archive knows no such object, and none that it owned${then}`)
  }
  if (another === undefined) return root
  const one = roots.every(({ identity }) => identity.uid === root.identity.uid)
  if (one) {
    const places = roots.slice(0, 10).map(({ identity }) => placeText(identity))
    throw bad(
      `${asked}: the archive has not the object itself, and those that bear its uid name ${roots.length} different owners; say which as KIND/NAME -n NAMESPACE: ${places.join(', ')}`,
    )
  }
  const newest = roots.toSorted((one, other) => Number(other.at) - Number(one.at))
  const some = newest.slice(0, 10).map(({ identity, at }) => `uid:${identity.uid} (${timeOf(at)})`)
  const again = sameCommand(words, `uid:${newest[0]!.identity.uid}`)
  throw bad(
    `${asked}: ${roots.length} objects had that name, one after the other; say which, or when (--at): ${some.join(', ')}. The newest: ${again}`,
  )
}

/** The namespace that is asked for itself: `ns/shop`, or `ns shop`; empty for another object. */
function namespaceNamed(words: readonly string[]): string {
  return /^(?:ns|namespaces?)[/ ](.+)$/i.exec(words.join(' '))?.[1] ?? ''
}

/** What was typed, about another object. */
function sameCommand(words: readonly string[], object: string): string {
  const typed = process.argv.slice(2)
  const [first = '', ...others] = words
  const at = typed.indexOf(first)
  const rest = typed.filter((each, index) => index !== at && !others.includes(each))
  return ['kinfold', ...rest, object].map(shellWord).join(' ')
}

function isArchived(objects: Objects, { identity }: Root): boolean {
  const object = objects.get(identity.uid)
  return object !== undefined && isSameIdentity(identityIn(object), identity)
}

function placeText({ kind, namespace, name }: Identity): string {
  return `${kind}/${name}${namespace === '' ? '' : ` -n ${namespace}`}`
}

function includedIn(text: string | undefined): ReadonlySet<Guard> {
  const words = text === undefined ? [] : text.split(',').map((word) => word.trim())
  return new Set(
    words.map((value) => {
      const guard = oneOf({ key: 'include', value, from: '--include' }, GUARDS)
      if (guard !== undefined) return guard
      throw bad(`--include takes ${GUARDS.join(', ')}`)
    }),
  )
}

/**
 * Which rights it would hand out: of all of RBAC that is created, or would be if it were asked for.
 */
async function rightsOf(
  { log, codec }: ArchiveSource,
  steps: readonly Step[],
  keys: ArchiveKeys,
  signal: AbortSignal,
): Promise<ReadonlyMap<Uid, readonly string[]>> {
  const meant = steps.flatMap((step) => {
    const isMeant = step.type === 'create' || (step.type === 'refuse' && step.guard !== undefined)
    return isMeant && guardOf(step.object) === 'rbac' ? [step.object] : []
  })
  const isReadable = ({ keyId }: ArchivedObject): boolean => keyId === '' || keys.has(keyId)
  const bodies = await readBodies(log, codec, meant.filter(isReadable), keys, signal)
  return new Map(
    meant.map((object) => {
      const body = bodies.get(object.uid)
      const unknown = isReadable(object)
        ? 'its rights are not known: its body is not in the archive any more'
        : 'its rights are not known without its key (--archive-key-file)'
      return [object.uid, body === undefined ? [unknown] : rightsIn(body)]
    }),
  )
}

interface Failures {
  readonly reasons: ReadonlyMap<Uid, string>
  /** Why no more is known; empty: it is. */
  readonly unknown: string
}

/** The root, as far as it is in the archive, and its dependents unless `only` is set. */
function chosenOf(
  objects: Objects,
  root: Root,
  { only }: Pick<RestoreFlags, 'only'>,
): readonly ArchivedObject[] {
  const { uid, kind, name } = root.identity
  if (only !== true) return subtreeOf(objects, root.identity)
  const object = objects.get(uid)
  if (object !== undefined && isArchived(objects, root)) return [object]
  throw bad(
    `${kind}/${name} is not in the archive: ${WHAT_IS_ARCHIVED}; without --only its dependents are restored`,
  )
}

/** Those who restore over Kafka need not be able to read the events. */
async function failuresOf(
  { log, codec }: ArchiveSource,
  steps: readonly Pick<Step, 'object'>[],
  signal: AbortSignal,
): Promise<Failures> {
  const objects = steps.map(({ object }) => object)
  try {
    return { reasons: await failedDeletes(log, codec, objects, signal), unknown: '' }
  } catch (error) {
    if (!(error instanceof LogError)) throw error
    const unknown = `what became of the deletes is not known: ${error.message}`
    return { reasons: new Map(), unknown }
  }
}
