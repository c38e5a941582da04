/**
 * Kinds as a user lists them: the full name is taken, and whatever else names one is answered with
 * that.
 */
import { deepEqual, throws } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { nameOf } from '../print/kind-name.ts'
import { listedKinds } from './listed-kind.ts'

function listed(value: string): readonly string[] | undefined {
  return listedKinds({ key: 'kinds', value, from: '--kinds' })?.map(nameOf)
}

for (const value of [
  'pods',
  'endpoints',
  'events,events.events.k8s.io',
  'deployments.apps',
  'deployments.example.com',
  'ingresses.networking.k8s.io',
  'sheep.farm.example.com',
]) {
  test(`${value} is taken as it is`, () => deepEqual(listed(value), value.split(',')))
}

const meant = [
  ['po', 'pods'],
  ['deploy', 'deployments.apps'],
  ['deployments', 'deployments.apps'],
  ['deployment', 'deployments.apps'],
  ['Deployment', 'deployments.apps'],
  ['deploy.apps', 'deployments.apps'],
  ['ingress', 'ingresses.networking.k8s.io'],
  ['rs', 'replicasets.apps'],
  ['ns', 'namespaces'],
  ['crd', 'customresourcedefinitions.apiextensions.k8s.io'],
  ['roles', 'roles.rbac.authorization.k8s.io'],
  ['ConfigMap', 'configmaps'],
  ['job.batch', 'jobs.batch'],
] as const

for (const [value, name] of meant) {
  test(`${value} is refused, with ${name} as what was meant`, () => {
    const text = `did you mean ${name.replaceAll('.', '\\.')}\\?$`
    throws(() => listed(value), new RegExp(`"${value}" is no kind: .*; ${text}`))
  })
}

const COMMENT = (list: string): string =>
  `# Printed by kinfold rbac\n# Give Kinfold the same list: --kinds ${list}\n`

for (const [what, content, names] of [
  ['what rbac printed', `${COMMENT('pods,jobs.batch')}---\napiVersion: v1\n`, 'pods jobs.batch'],
  [
    'what it printed twice',
    `${COMMENT('pods')}---\napiVersion: v1\n${COMMENT('jobs.batch')}---\napiVersion: v1\n`,
    'pods jobs.batch',
  ],
  ['names', 'pods # a comment\njobs.batch, secrets\n', 'pods jobs.batch secrets'],
] as const) {
  test(`a file has ${what}`, (t) => {
    deepEqual(listedIn(t, content).join(' '), names)
  })
}

test('a file that lists kinds in two ways is refused, so that none is left out without a word', (t) => {
  throws(() => listedIn(t, `${COMMENT('pods')}configmaps\n`), /keep one of the two/)
})

function listedIn(t: TestContext, content: string): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-kinds-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'kinds')
  writeFileSync(file, content)
  const kinds = listedKinds({ key: 'kinds', value: `@${file}`, from: '--kinds' }) ?? []
  return kinds.map(nameOf)
}
