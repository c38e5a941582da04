/**
 * `kinfold doctor`: what is needed and what is missing. What must stay true: warnings are counted,
 * and only what failed is exit code 1. Not here: the checks (checkup.ts).
 */
import { type Command, Option } from 'commander'
import { EXIT } from '../../runtime/lifecycle.ts'
import { IGNORE_HINT, upConfig } from '../config/config.ts'
import { DEFAULT_DATA, defaultDataDirectory } from '../config/data-directory.ts'
import { kindSelection, listedKinds } from '../config/listed-kind.ts'
import { flagOf } from '../config/setting.ts'
import { type ListedKind, nameOf } from '../print/kind-name.ts'
import { countOf } from '../print/word.ts'
import type { Finding } from './finding.ts'
import type { RightsOf } from './role-manifest.ts'

interface DoctorFlags {
  readonly kubeconfig?: string
  readonly context?: readonly string[]
  readonly data?: string
  readonly kinds?: string
  readonly ignoreKinds?: string
  readonly config?: string
  readonly service: RightsOf
}

/** As `/readyz?verbose` has them. */
const MARKS: Readonly<Record<Finding['state'], string>> = {
  ok: '[+]',
  warning: '[!]',
  failed: '[-]',
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'check permissions kind by kind and for rules, clocks, cluster identity, the lock, secret files, disk and data format',
    )
    .option('--kubeconfig <file>', 'kubeconfig')
    .option(
      '--context <name>',
      'context to check; may be repeated',
      (value: string, all: readonly string[] = []) => [...all, value],
    )
    .option('--data <dir>', `data directory (default: ${DEFAULT_DATA})`)
    .option(
      '--kinds <list>',
      'kinds that are to be collected, @FILE, or allowed; default: all that the cluster serves',
    )
    .option('--ignore-kinds <list>', IGNORE_HINT)
    .option('--config <file>', 'YAML file of up, watcher or reaper; flags win')
    .addOption(
      new Option(
        '--service <name>',
        'whose rights: up does what watcher and reaper do apart; observe, up in mode observe, only reads',
      )
        .choices(['up', 'watcher', 'reaper', 'observe'])
        .default('up'),
    )
    .action(async (flags: DoctorFlags) => {
      const file = flags.config === undefined ? undefined : upConfig({ config: flags.config })
      const kubeconfig = flags.kubeconfig ?? file?.kubeconfig
      const data = flags.data ?? file?.data ?? defaultDataDirectory()
      // A flag wins over the file.
      const onlyAllowed =
        flags.kinds === undefined
          ? (file?.onlyAllowed ?? false)
          : kindSelection({ key: 'kinds', value: flags.kinds, from: '--kinds' }).onlyAllowed
      const checked = {
        onlyAllowed,
        kinds: onlyAllowed ? null : (kindsOf('kinds', flags, file?.kinds) ?? null),
        ignoreKinds: kindsOf('ignoreKinds', flags, file?.ignoreKinds)?.map(nameOf) ?? [],
        service: flags.service,
        rules: file?.rules ?? [],
      }
      const { checkCluster, checkCopies, checkData, checkSecrets } = await import('./checkup.ts')
      const { openClusters } = await import('../config/clusters.ts')
      const clusters = openClusters('doctor', kubeconfig, flags.context ?? file?.contexts ?? [])
      const findings = [
        ...checkSecrets({
          kubeconfig,
          httpTokens: [file?.httpTokenFile, file?.httpMetricsTokenFile],
        }),
        ...(await checkData(data)),
      ]
      try {
        // At once: each that is silent costs its own wait.
        const each = clusters.map((cluster) => checkCluster(cluster, checked))
        findings.push(...(await Promise.all(each)).flat())
        findings.push(...(await checkCopies(data, clusters)))
      } finally {
        await Promise.all(clusters.map((cluster) => cluster[Symbol.asyncDispose]()))
      }
      const count = (wanted: Finding['state']): number =>
        findings.filter(({ state }) => state === wanted).length
      const [warnings, failures] = [count('warning'), count('failed')]
      for (const { state, text } of findings) process.stdout.write(`${MARKS[state]} ${text}\n`)
      process.stdout.write(
        `${countOf(findings.length, 'check')}: ${failures} failed, ${countOf(warnings, 'warning')}\n`,
      )
      process.exitCode = failures === 0 ? EXIT.ok : EXIT.findings
    })
}

/** Undefined where neither the flag nor the file lists any. */
function kindsOf(
  key: 'kinds' | 'ignoreKinds',
  flags: DoctorFlags,
  ofFile: readonly string[] | null = null,
): readonly ListedKind[] | undefined {
  const from = flags[key] === undefined ? `${flags.config}: ${key}` : flagOf(key)
  const listed = ofFile === null || ofFile.length === 0 ? undefined : ofFile
  return listedKinds({ key, value: flags[key] ?? listed, from })
}
