/**
 * `kinfold restore`: makes what Kinfold deleted again, out of the archive, with the rights of the user's own kubeconfig.
 *
 * What must stay true: without `--yes` nothing is made; what cannot be restored is named with its reason.
 */
import type { Command } from 'commander'
import type { Uid } from '../core/model/object.ts'
import { LogError } from '../ports/log.ts'
import { type ArchiveKey, openArchiveKey } from '../runtime/archive-key.ts'
import { EXIT, ExitError, stopSignal } from '../runtime/lifecycle.ts'
import type { ArchivedObject } from '../services/restore/archive-reader.ts'
import { checkKeys, indexArchive, readBodies } from '../services/restore/archive-reader.ts'
import { failedDeletes } from '../services/restore/delete-result.ts'
import type { LostOwners } from '../services/restore/restore-plan.ts'
import { planRestore } from '../services/restore/restore-plan.ts'
import { type RestoreParts, runRestore } from '../services/restore/restore-run.ts'
import type { Objects, Root, Selector } from '../services/restore/selection.ts'
import { rootsOf, subtreeOf } from '../services/restore/selection.ts'
import { surveyFor } from '../services/restore/survey.ts'
import type { ArchiveSource, SourceFlags } from './archive-source.ts'
import { selectorParams } from './client.ts'
import { addClusterOptions, collect, defaultDataDirectory } from './config.ts'
import { addKafkaOptions } from './kafka-config.ts'
import { outputOf } from './output.ts'
import { RESTORE_OUTPUTS, reportAs, timeOf } from './restore-report.ts'
import { bad, oneOf } from './setting.ts'

interface RestoreFlags extends SourceFlags {
  readonly kubeconfig?: string
  readonly context?: readonly string[]
  readonly namespace: string
  readonly fromCluster?: string
  readonly only?: boolean
  readonly lostOwners: string
  readonly archiveKeyFile?: readonly string[]
  readonly dryRun?: string
  readonly yes?: boolean
  readonly output: string
}

const LOST_OWNERS: readonly LostOwners[] = ['refuse', 'drop', 'relink']

export function addRestore(program: Command): void {
  const command = program
    .command('restore')
    .description(
      'plan, and with --yes make again, what was deleted of an object and all that hung on it, out of the archive',
    )
    .argument(
      '<object...>',
      'KIND/NAME, KIND NAME or uid:UID; it need not be in the archive itself',
    )
    .option('-n, --namespace <ns>', 'namespace of the object', 'default')
    .option('--only', 'the object alone, not what hung on it')
    .option(
      '--lost-owners <what>',
      `of owners that neither live nor are restored: ${LOST_OWNERS.join(', ')}. drop leaves their references out, relink names what bears their name now`,
      'refuse',
    )
    .option(
      '--archive-key-file <file>',
      'key that the archive is encrypted with; repeat it where keys were replaced',
      collect,
    )
    .option('--from-cluster <id>', 'uid of kube-system of the cluster that it was deleted from')
    .option('--dry-run <how>', 'server: have the server check everything, and keep nothing')
    .option('--yes', 'make it; without this the plan is shown and nothing is done')
    .option('-o, --output <format>', RESTORE_OUTPUTS.join(', '), 'text')
    .option('--data <dir>', `data directory of the log (default: ${defaultDataDirectory()})`)
    .option('--config <file>', 'YAML file with a kafka section; flags win')
  addKafkaOptions(addClusterOptions(command, 'context of the cluster to make it in')).action(
    restore,
  )
}

async function restore(words: string[], flags: RestoreFlags): Promise<void> {
  const output = outputOf(flags.output, RESTORE_OUTPUTS)
  const lost = oneOf(
    { key: 'lostOwners', value: flags.lostOwners, from: '--lost-owners' },
    LOST_OWNERS,
  )
  const dryRun = oneOf({ key: 'dryRun', value: flags.dryRun, from: '--dry-run' }, ['server'])
  const selector = selectorOf(words, flags)
  const keys = new Map((flags.archiveKeyFile ?? []).map(keyIn))
  const { openArchive, openRestoredCluster } = await import('./archive-source.ts')
  const signal = stopSignal()
  await using restorer = openRestoredCluster(flags.kubeconfig, flags.context ?? [])
  const here = await restorer.identify(signal)
  const source = await openArchive(flags)
  await using log = source.log
  const cluster = flags.fromCluster ?? here
  const objects = await objectsOf(source, cluster, restorer.name, signal)
  const root = onlyRoot(rootsOf(objects, selector), words)
  const found = subtreeOf(objects, root.uid)
  const chosen = flags.only === true ? found.filter(({ uid }) => uid === root.uid) : found
  const survey = await surveyFor(chosen, restorer, signal)
  const steps = planRestore(chosen, survey, lost ?? 'refuse')
  const failures = await failuresOf(source, chosen, signal)
  // Both asked for: the check is what does no harm.
  const does = dryRun !== undefined ? 'checks' : flags.yes === true ? 'makes' : 'plans'
  const report = reportAs(output, {
    root,
    from: cluster,
    into: restorer.name,
    steps,
    failures,
    does,
  })
  const refused = steps.filter(({ type }) => type === 'refuse').length
  if (does === 'plans') {
    report.end()
    process.exitCode = refused === 0 ? EXIT.ok : EXIT.findings
    return
  }
  const creating = steps.flatMap((step) => (step.type === 'create' ? [step.object] : []))
  checkKeys(creating, keys)
  const bodies: RestoreParts['bodies'] = async (of) =>
    await readBodies(log, source.codec, of, keys, signal)
  const parts = { restorer, bodies, dryRun: does === 'checks' }
  let failed = 0
  try {
    for await (const restored of runRestore(steps, parts, signal)) {
      if (restored.uid === undefined) failed++
      report.add(restored)
    }
  } finally {
    report.end()
  }
  process.exitCode = failed > 0 ? EXIT.failure : refused > 0 ? EXIT.findings : EXIT.ok
}

function keyIn(file: string): readonly [string, ArchiveKey] {
  const key = openArchiveKey(file)
  return [key.id, key]
}

function selectorOf(words: readonly string[], { namespace }: RestoreFlags): Selector {
  const params = selectorParams(words, { namespace })
  const uid = params.get('uid')
  if (uid !== null) return { uid }
  return { kind: params.get('kind') ?? '', name: params.get('name') ?? '', namespace }
}

async function objectsOf(
  { log, codec }: ArchiveSource,
  cluster: string,
  name: string,
  signal: AbortSignal,
): Promise<Objects> {
  const { objects, clusters, incomplete } = await indexArchive(log, codec, cluster, signal)
  if (incomplete > 0) {
    process.stderr.write(
      `warning: ${incomplete} records of the archive are not whole, or cannot be read, and are left out\n`,
    )
  }
  if (objects.size > 0) return objects
  const others =
    clusters.size === 0
      ? 'it is empty: archiving is switched on with --archive'
      : `it has some of ${[...clusters].join(', ')}: name one with --from-cluster`
  throw new ExitError(
    EXIT.input,
    `the archive has nothing of the cluster ${name} (${cluster}); ${others}`,
  )
}

function onlyRoot(roots: readonly Root[], words: readonly string[]): Root {
  const [root, another] = roots
  const asked = words.join(' ')
  if (root === undefined) {
    throw bad(`${asked}: the archive knows no such object, and none that it owned`)
  }
  if (another === undefined) return root
  const some = roots.slice(0, 10).map(({ uid, at }) => `uid:${uid} (${timeOf(at)})`)
  throw bad(
    `${asked}: ${roots.length} objects had that name, one after the other; say which: ${some.join(', ')}`,
  )
}

/** Those who restore over Kafka need not be able to read the events. */
async function failuresOf(
  { log, codec }: ArchiveSource,
  chosen: readonly ArchivedObject[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Uid, string>> {
  try {
    return await failedDeletes(log, codec, chosen, signal)
  } catch (error) {
    if (!(error instanceof LogError)) throw error
    process.stderr.write(`warning: what became of the deletes is not known: ${error.message}\n`)
    return new Map()
  }
}
