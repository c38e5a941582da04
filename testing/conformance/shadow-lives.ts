/**
 * `npm run shadow-lives -- --lives COUNT --from N`: random lives with odd references on a real server, upstream's collector on, Kinfold beside it in mode
 * observe. Prints how many deletions both agree on and each that they do not; exit code 1 if upstream deleted what Kinfold would keep.
 *
 * What must stay true: a life is a pure function of its seed; each has a namespace of its own.
 *
 * Not here: what is compared (services/graph/audit), lives whose outcome both must share object by object (twins.ts).
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import type { ShadowReport } from '../../services/graph/audit/shadow-report.ts'
import { missingServers } from '../cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../cluster/control-plane.ts'
import { eventually } from '../eventually.ts'
import { runKinfold } from '../kinfold-command.ts'
import { KinfoldProcess } from '../kinfold-process.ts'
import {
  CONFIG_MAP,
  type Kind,
  type Made,
  make,
  NAMESPACE,
  pathOf,
  type Reference,
  referenceTo,
  SECRET,
} from '../objects.ts'
import { type Chance, seeded } from '../seeded.ts'
import { canary } from './canary.ts'
import { defineAll, WIDGET, WIDGET_NOT_PREFERRED, WIDGET_NOT_SERVED } from './kinds.ts'

const USAGE = 'npm run shadow-lives -- --lives COUNT --from N'
const KINDS: readonly [Kind, ...Kind[]] = [CONFIG_MAP, SECRET, WIDGET]
const POLICIES = ['Background', 'Background', 'Foreground', 'Orphan'] as const
const AT_ONCE = 4
const STEPS = 24
const WITHIN_MS = 5 * 60_000

type Oddity = (right: Reference, seed: string) => readonly Reference[]

/** `shared` ones carry the right uid beside the right reference. */
const ODDITIES: readonly [Oddity, ...Oddity[]] = [
  (right) => [{ ...right, kind: right.kind.toLowerCase() }],
  (right) => [{ ...right, kind: right.kind.slice(0, 1) + right.kind.slice(1).toUpperCase() }],
  (right) => [otherKind(right)],
  (right) => [{ ...right, kind: 'Nothing' }],
  (right) => [{ ...right, name: `${right.name}-not` }],
  (right) => [{ ...right, name: 'a/b' }],
  (right) => [{ ...right, name: '..' }],
  (right) => [{ ...right, uid: `${right.uid}-not` }],
  (right, seed) => [{ ...right, name: 'never', uid: `never-${seed}` }],
  (right) => [right, otherKind(right)],
  (right) => [otherKind(right), right],
  (right) => [right, { ...right, name: `${right.name}-not` }],
  (right) => [right, { ...right, kind: right.kind.toLowerCase() }],
  (right) => (right.kind === 'Widget' ? [{ ...right, apiVersion: WIDGET_NOT_PREFERRED }] : [right]),
  (right) => (right.kind === 'Widget' ? [{ ...right, apiVersion: WIDGET_NOT_SERVED }] : [right]),
]

function otherKind(right: Reference): Reference {
  return { ...right, apiVersion: 'v1', kind: right.kind === 'Secret' ? 'ConfigMap' : 'Secret' }
}

/**
 * Two things are left out, since upstream's way with them is known and another (B35 in docs/semantics.md; who deleted an object, no log tells): nothing refers to an
 * owner that orphans, which has seen all of its dependents; and users delete only what has no owner.
 */
async function live(plane: ControlPlane, seed: number): Promise<void> {
  const chance = seeded(seed)
  const namespace = `life-${seed}`
  await make(plane, { kind: NAMESPACE, name: namespace })
  const roots: Made[] = []
  let owning: Made[] = []
  for (let step = 0; step < STEPS; step++) {
    const [root, ...otherRoots] = roots
    const [first, ...others] = owning
    if (root !== undefined && chance.next() < 0.3) {
      const target = chance.pick([root, ...otherRoots])
      const propagationPolicy = chance.pick(POLICIES)
      if (propagationPolicy === 'Orphan') {
        await canary(
          plane,
          KINDS.map((kind) => ({ kind, namespace })),
        )
        owning = owning.filter((each) => each !== target)
      }
      await plane.request('DELETE', pathOf(target), { propagationPolicy })
      roots.splice(roots.indexOf(target), 1)
    } else {
      const owners = first === undefined ? [] : ownersOf(chance, [first, ...others], namespace)
      const kind = chance.pick(KINDS)
      const made = await make(plane, { kind, name: `o${step}`, namespace, owners })
      owning.push(made)
      if (owners.length === 0) roots.push(made)
    }
  }
}

function ownersOf(
  chance: Chance,
  made: readonly [Made, ...Made[]],
  seed: string,
): readonly Reference[] {
  const blockOwnerDeletion = chance.next() < 0.5
  return Array.from({ length: chance.pick([0, 1, 1, 1, 2]) }, () => {
    const right = referenceTo(chance.pick(made))
    return chance.next() < 0.5 ? [right] : chance.pick(ODDITIES)(right, seed)
  })
    .flat()
    .map((each) => ({ ...each, blockOwnerDeletion }))
}

/** Once nothing is left that upstream still has time for. */
async function reported(data: string): Promise<ShadowReport> {
  let report: ShadowReport | undefined
  await eventually(
    'nothing is pending',
    async () => {
      const ran = await runKinfold(['shadow', '--data', data, '-o', 'json'])
      report = JSON.parse(ran.stdout) as ShadowReport
      const pending = report.clusters.reduce((sum, each) => sum + each.pending, 0)
      return (report.clusters.length > 0 && pending === 0) || `${pending} pending`
    },
    { withinMs: WITHIN_MS },
  )
  return report!
}

async function run(seeds: readonly number[], print: (line: string) => void): Promise<number> {
  await using resources = new AsyncDisposableStack()
  const plane = resources.use(await startControlPlane())
  await defineAll(plane)
  resources.use(await plane.startControllerManager({ collector: true, clientLimitsLifted: true }))
  const data = join(plane.folder, 'kinfold')
  const flags = ['--mode', 'observe', '--preset', 'parity']
  resources.use(await KinfoldProcess.start({ kubeconfig: plane.kubeconfig, data, flags }))
  const places = KINDS.map((kind) => ({ kind, namespace: 'default' }))
  await canary(plane, places)
  const left = seeds.values()
  const worker = async (): Promise<void> => {
    for (const seed of left) await live(plane, seed)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  await canary(plane, places)
  const { clusters, cases } = await reported(data)
  const [{ agreed, theirs, ours, unclear }] = clusters as [ShadowReport['clusters'][number]]
  for (const { agreement, kind, namespace, name, because } of cases) {
    if (agreement !== 'unclear') print(`${agreement} ${kind} ${namespace}/${name}: ${because}`)
  }
  print(
    `${seeds.length} lives: agreed ${agreed}, theirs ${theirs}, ours ${ours}, unclear ${unclear}`,
  )
  return theirs
}

function seedsOf(args: string[]): readonly number[] {
  const option = (fallback: string) => ({ type: 'string', default: fallback }) as const
  try {
    const { values } = parseArgs({ args, options: { lives: option('200'), from: option('1') } })
    const [lives, from] = [Number(values.lives), Number(values.from)]
    if (!Number.isSafeInteger(lives) || !Number.isSafeInteger(from) || lives < 1 || from < 1) {
      throw new Error('--lives and --from take a whole number above 0')
    }
    return Array.from({ length: lives }, (_, index) => from + index)
  } catch (error) {
    throw new ExitError(EXIT.input, `${(error as Error).message}: ${USAGE}`)
  }
}

try {
  const seeds = seedsOf(process.argv.slice(2))
  const missing = missingServers('etcd', 'kube-apiserver', 'kube-controller-manager')
  if (missing !== undefined) throw new ExitError(EXIT.input, missing)
  const theirs = await run(seeds, (line) => void process.stdout.write(`${line}\n`))
  process.exitCode = theirs === 0 ? EXIT.ok : EXIT.findings
} catch (error) {
  if (!(error instanceof ExitError)) throw error
  process.stderr.write(`error: ${error.message}\n`)
  process.exitCode = error.exitCode
}
