/**
 * `node testing/conformance/beside.ts --lives COUNT --from N`: random workloads with odd references
 * on one control plane with upstream's collector, and Kinfold in mode observe beside it. Prints the
 * report of `kinfold shadow` about them; exit code 1 if it reports a difference.
 *
 * What must stay true: nothing is left out of the counts; all that was pending has been decided.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { ShadowReport } from '../../services/graph/audit/shadow-report.ts'
import { missingServers } from '../cluster/binaries.ts'
import { startControlPlane } from '../cluster/control-plane.ts'
import { eventually } from '../eventually.ts'
import { runKinfold } from '../process/kinfold-command.ts'
import { KinfoldProcess } from '../process/kinfold-process.ts'
import { canary } from './canary.ts'
import { collectorOf } from './collector.ts'
import { defineAll, PRIORITY_CLASS, REALM, WIDGET } from './kinds.ts'
import { runAlone } from './twin.ts'
import { workload } from './workload.ts'

const USAGE = 'node testing/conformance/beside.ts --lives COUNT --from N'
/** Lives side by side, in namespaces of their own. */
const AT_ONCE = 4
/**
 * An object that Kinfold would delete and the other one has not deleted is pending for two minutes.
 */
const DECIDED_WITHIN_MS = 180_000

export interface BesideOptions {
  readonly lives: number
  readonly from: number
  readonly tell?: (line: string) => void
}

/** As `kinfold shadow -o json` has it once nothing is pending. */
export async function runBeside({ lives, from, tell }: BesideOptions): Promise<ShadowReport> {
  await using resources = new AsyncDisposableStack()
  const plane = resources.use(await startControlPlane())
  await defineAll(plane)
  const collector = resources.use(collectorOf('upstream', plane))
  await collector.start()
  const data = join(plane.folder, 'beside')
  const flags = ['--mode', 'observe', '--preset', 'parity', '--log-level', 'warn']
  const kinfold = await KinfoldProcess.start({ kubeconfig: plane.kubeconfig, data, flags })
  resources.use(kinfold)
  const places = [WIDGET, REALM, PRIORITY_CLASS].map((kind) => ({ kind, namespace: 'default' }))
  await canary(plane, places)
  const left = Array.from({ length: lives }, (_, index) => from + index).values()
  const worker = async (): Promise<void> => {
    for (const seed of left) {
      await runAlone(workload(seed), `b-${seed}`, { plane, collector })
      tell?.(`seed ${seed}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  let report = await shadowOf(data)
  const decided = async (): Promise<boolean | string> => {
    report = await shadowOf(data)
    const pending = report.clusters.reduce((sum, each) => sum + each.pending, 0)
    return pending === 0 || `${pending} pending`
  }
  await eventually('nothing is pending', decided, { withinMs: DECIDED_WITHIN_MS, everyMs: 1_000 })
  return report
}

async function shadowOf(data: string): Promise<ShadowReport> {
  const { code, stdout, stderr } = await runKinfold(['shadow', '--data', data, '-o', 'json'])
  if (code !== EXIT.ok && code !== EXIT.findings) throw new Error(stderr)
  return JSON.parse(stdout) as ShadowReport
}

async function main(args: string[]): Promise<number> {
  const option = (fallback: string) => ({ type: 'string', default: fallback }) as const
  const { values } = parseArgs({ args, options: { lives: option('20'), from: option('1') } })
  const [lives, from] = [Number(values.lives), Number(values.from)]
  if (!(Number.isSafeInteger(lives) && lives > 0 && Number.isSafeInteger(from) && from > 0)) {
    throw new ExitError(EXIT.input, `--lives and --from take whole numbers above 0: ${USAGE}`)
  }
  const missing = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager')
  if (missing !== undefined) throw new ExitError(EXIT.input, missing)
  const print = (text: string): void => void process.stdout.write(`${text}\n`)
  const report = await runBeside({ lives, from, tell: print })
  // Canaries are deleted for an owner that was never observed: unclear.
  const cases = report.cases.filter(({ agreement }) => agreement !== 'unclear')
  print(JSON.stringify({ clusters: report.clusters, cases }, null, 2))
  const differences = report.clusters.reduce((sum, each) => sum + each.theirs + each.ours, 0)
  return differences === 0 ? EXIT.ok : EXIT.findings
}

if (import.meta.main) {
  try {
    process.exitCode = await main(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof ExitError)) throw error
    process.stderr.write(`error: ${error.message}\n`)
    process.exitCode = error.exitCode
  }
}
