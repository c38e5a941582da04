/**
 * A real API server takes every variant of the chart, and the kustomize base, as a dry run in which
 * nothing may be unknown to it.
 */
import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { Manifest } from '../../cli/setup/role-manifest.ts'
import { missingServers, requireBinary } from '../cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../cluster/control-plane.ts'
import { runKinfold } from '../process/kinfold-command.ts'
import { isOfOperator, named, ROOT, render, variants } from './variant.ts'

const skip = missingServers('etcd', 'kube-apiserver', 'kubectl', 'helm') ?? false
const BASE = join(ROOT, 'deploy', 'kustomize', 'base')
const CHART = join(ROOT, 'deploy', 'helm', 'kinfold')

suite('an API server', { skip }, () => {
  let plane: ControlPlane

  before(async () => {
    plane = await startControlPlane()
    for (const name of ['kinfold', 'shop', 'team-a']) {
      const { status } = await plane.request('POST', '/api/v1/namespaces', { metadata: { name } })
      equal(status, 201)
    }
  })
  after(async () => await plane[Symbol.asyncDispose]())

  /** One line for each object that it would have created. */
  function dryRun(manifests: readonly Manifest[]): readonly string[] {
    const list = { apiVersion: 'v1', kind: 'List', items: manifests }
    const { status, stdout, stderr } = spawnSync(
      requireBinary('kubectl'),
      [
        ...['--kubeconfig', plane.kubeconfig, 'apply', '--server-side', '--dry-run=server'],
        ...['--validate=strict', '-o', 'name', '-f', '-'],
      ],
      { input: JSON.stringify(list), encoding: 'utf8' },
    )
    equal(stderr, '')
    equal(status, 0)
    return stdout.trim().split('\n')
  }

  for (const variant of variants()) {
    test(`takes the chart with ${variant}`, () => {
      const manifests = render(variant).filter((each) => !isOfOperator(each))
      const taken = dryRun(manifests)
      equal(taken.length, manifests.length)
      ok(taken.some((each) => /^(statefulset|deployment)\.apps\/kinfold/.test(each)))
    })
  }

  test('takes what kubectl makes of the kustomize base', () => {
    const text = execFileSync(requireBinary('kubectl'), ['kustomize', BASE], {
      encoding: 'utf8',
    })
    ok(text.includes('kind: StatefulSet'))
    const applied = spawnSync(
      requireBinary('kubectl'),
      [
        ...['--kubeconfig', plane.kubeconfig, 'apply', '--server-side', '--dry-run=server'],
        ...['--validate=strict', '-k', BASE],
      ],
      { encoding: 'utf8' },
    )
    deepEqual({ status: applied.status, stderr: applied.stderr }, { status: 0, stderr: '' })
  })

  test('takes the chart over what kinfold rbac had applied, as docs/operate/helm.md says (C17)', async () => {
    const printed = await runKinfold(['rbac', '--service', 'up', '--kinds', 'pods'])
    equal(printed.code, 0, printed.stderr)
    const run = (binary: 'kubectl' | 'helm', args: readonly string[], input?: string) =>
      spawnSync(requireBinary(binary), [...args, '--kubeconfig', plane.kubeconfig], {
        ...{ input, encoding: 'utf8' },
      })
    const applied = run('kubectl', ['apply', '-f', '-'], printed.stdout)
    equal(applied.status, 0, applied.stderr)
    const install = ['install', 'kinfold', CHART, '-n', 'kinfold']
    const refused = run('helm', install)
    ok(/invalid ownership metadata/.test(refused.stderr), refused.stderr)
    const taken = run('helm', [...install, '--take-ownership', '--force-conflicts'])
    equal(taken.status, 0, taken.stderr)
    const gone = run('helm', ['uninstall', 'kinfold', '-n', 'kinfold'])
    equal(gone.status, 0, gone.stderr)
    const left = run('kubectl', ['get', 'clusterroles', '-o', 'name'])
    ok(!left.stdout.includes('kinfold'), left.stdout)
  })

  test('refuses a chart that has a field which it does not know', () => {
    const workload = named(render('defaults.yaml'), 'StatefulSet')
    const wrong = { ...workload, spec: { ...(workload['spec'] as object), replica: 1 } }
    throws(() => dryRun([wrong]), /unknown field \\*"replica\\*"/)
  })
})
