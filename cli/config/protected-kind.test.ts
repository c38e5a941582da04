/**
 * A kind of `--protect-kinds` that no request bears would protect nothing: each such name is
 * refused, with the one that may be meant.
 */
import { deepEqual, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { type KnownKind, type KnownKinds, protectedKinds } from './protected-kind.ts'

const LISTED: KnownKinds = { kinds: kinds(['', '', '']), areAll: false, which: 'are listed' }
const SERVED: KnownKinds = {
  kinds: kinds(['secret', 'ing', 'deploy']),
  areAll: true,
  which: 'are served',
}

test('takes what is known, by the name that the lock compares', () => {
  const names = protectedKinds(' secrets,deployments.apps', LISTED).map(
    ({ resource, group }) => `${resource}/${group}`,
  )
  deepEqual(names, ['secrets/', 'deployments/apps'])
  deepEqual(protectedKinds(undefined, LISTED), [])
})

const cases: readonly (readonly [said: string, known: KnownKinds, meant: string])[] = [
  ['secret', LISTED, 'secrets'],
  ['Secret', LISTED, 'secrets'],
  ['Secrets', LISTED, 'secrets'],
  ['secrets,secret', LISTED, 'secrets'],
  ['deployments', LISTED, 'deployments.apps'],
  ['Deployment', LISTED, 'deployments.apps'],
  ['deployment.apps', LISTED, 'deployments.apps'],
  ['Ingress.networking.k8s.io', LISTED, 'ingresses.networking.k8s.io'],
  ['deployments.example.com', LISTED, ''],
  // Not listed either: to be listed by its plural.
  ['networkpolicy.networking.k8s.io', LISTED, 'networkpolicies.networking.k8s.io'],
  ['pods', LISTED, ''],
  ['*', LISTED, ''],
  ['deploy', SERVED, 'deployments.apps'],
  ['ing', SERVED, 'ingresses.networking.k8s.io'],
  // No cluster serves its plural.
  ['networkpolicy.networking.k8s.io', SERVED, ''],
]

for (const [said, known, meant] of cases) {
  test(`refuses ${said} where kinds ${known.which}`, () => {
    const hint = meant === '' ? '' : `; did you mean ${meant.replaceAll('.', '\\.')}\\?`
    const message = new RegExp(`"[^"]+" is not among the kinds that ${known.which}${hint}$`)
    throws(() => protectedKinds(said, known), { name: 'ExitError', exitCode: 2, message })
  })
}

function kinds(aliases: readonly [string, string, string]): readonly KnownKind[] {
  return [
    { resource: 'secrets', group: '', aliases: [aliases[0]] },
    { resource: 'ingresses', group: 'networking.k8s.io', aliases: [aliases[1]] },
    { resource: 'deployments', group: 'apps', aliases: [aliases[2]] },
  ]
}
