/** Kinds as a user lists them: the full name is taken, and whatever else names one is answered with that. */
import { deepEqual, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { nameOf } from './kind-name.ts'
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
