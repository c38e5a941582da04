/** `kinfold doctor`: what is needed and what is missing. The checks are in checkup.ts. */
import type { Command } from 'commander'
import { EXIT } from '../runtime/lifecycle.ts'
import { defaultDataDirectory } from './config.ts'

interface DoctorFlags {
  readonly kubeconfig?: string
  readonly context?: readonly string[]
  readonly data: string
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'check permissions kind by kind, clocks, cluster identity, the lock, disk and data format',
    )
    .option('--kubeconfig <file>', 'kubeconfig')
    .option(
      '--context <name>',
      'context to check; may be repeated',
      (value: string, all: readonly string[] = []) => [...all, value],
    )
    .option('--data <dir>', 'data directory', defaultDataDirectory())
    .action(async (flags: DoctorFlags) => {
      const { checkCluster, checkData } = await import('./checkup.ts')
      const { openClusters } = await import('./clusters.ts')
      const clusters = openClusters(flags.kubeconfig, flags.context ?? [])
      const findings = await checkData(flags.data)
      try {
        for (const cluster of clusters) findings.push(...(await checkCluster(cluster)))
      } finally {
        await Promise.all(clusters.map((cluster) => cluster[Symbol.asyncDispose]()))
      }
      for (const { ok, text } of findings) process.stdout.write(`${ok ? '[+]' : '[-]'} ${text}\n`)
      process.exitCode = findings.every(({ ok }) => ok) ? EXIT.ok : EXIT.findings
    })
}
