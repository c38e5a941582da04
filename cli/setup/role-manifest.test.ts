/**
 * What `kinfold rbac` prints grants what is listed and nothing that could grow: every rule of every
 * manifest, read back.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { runKinfold } from '../../testing/process/kinfold-command.ts'

const KINDS = 'pods,configmaps,deployments.apps,replicasets.apps,widgets.example.com'
/** Never given to anybody, beside wildcards. */
const FORBIDDEN_VERBS = ['deletecollection', 'escalate', 'bind', 'impersonate', 'approve', 'sign']

interface Rule {
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
  readonly nonResourceURLs?: readonly string[]
}

interface Printed {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules?: readonly Rule[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly kind: string; readonly name: string }[]
  readonly spec?: {
    readonly failurePolicy?: string
    readonly validationActions?: readonly string[]
  }
}

async function printed(...args: readonly string[]): Promise<readonly Printed[]> {
  const { code, stdout, stderr } = await runKinfold(['rbac', ...args])
  equal(code, 0, stderr)
  return parseAllDocuments(stdout).map((document) => {
    deepEqual(document.errors, [])
    return document.toJS() as Printed
  })
}

/** What is wrong with rules, and with whom they are given to. */
function faults(manifests: readonly Printed[]): readonly string[] {
  return manifests.flatMap(({ kind, metadata, rules = [], roleRef, subjects = [] }) => {
    const where = `${kind} ${metadata.name}`
    const ofRules = rules.flatMap((rule) => {
      const { apiGroups = [], resources = [], verbs, nonResourceURLs = [], resourceNames } = rule
      const all = [...apiGroups, ...resources, ...verbs, ...nonResourceURLs]
      const makes = verbs.includes('create') || verbs.includes('update')
      const mayMake =
        resources.join() === 'events' ||
        /^kinfold-(watcher|data)$/.test(resourceNames?.join() ?? '')
      return [
        ...all.filter((each) => each.includes('*')).map((each) => `${where}: wildcard ${each}`),
        ...verbs
          .filter((verb) => FORBIDDEN_VERBS.includes(verb))
          .map((verb) => `${where}: ${verb}`),
        ...resources.filter((each) => each.includes('/')).map((each) => `${where}: ${each}`),
        ...(makes && !mayMake ? [`${where}: makes ${resources}`] : []),
        ...(verbs.length === 0 || all.length === verbs.length ? [`${where}: empty`] : []),
      ]
    })
    const mine = manifests.some((other) => {
      return other.kind === roleRef?.kind && other.metadata.name === roleRef.name
    })
    const isGiven = roleRef === undefined || mine || roleRef.name === 'system:discovery'
    const strangers = subjects.filter((subject) => subject.kind !== 'ServiceAccount')
    return [
      ...ofRules,
      ...(isGiven ? [] : [`${where}: ${roleRef.name} is not printed`]),
      ...strangers.map((subject) => `${where}: ${subject.kind} ${subject.name}`),
    ]
  })
}

/** `verb resource.group` for each right of an account on listed kinds. */
function rightsOf(manifests: readonly Printed[], account: string): readonly string[] {
  const roles = manifests
    .filter(({ subjects = [] }) => subjects.some(({ name }) => name === account))
    .map(({ roleRef }) => roleRef?.name)
  const rules = manifests.flatMap(({ kind, metadata, rules: own = [] }) =>
    kind === 'ClusterRole' && roles.includes(metadata.name) ? own : [],
  )
  const unnamed = rules.filter(({ resourceNames }) => resourceNames === undefined)
  return unnamed
    .flatMap(({ apiGroups = [], resources = [], verbs }) =>
      resources.map((each) => `${each}.${apiGroups.join()} ${verbs.join()}`),
    )
    .sort()
}

test('watcher and reaper have an account each, with rights kind by kind and nothing that grows', async () => {
  const manifests = await printed('--kinds', KINDS)
  deepEqual(faults(manifests), [])
  deepEqual(rightsOf(manifests, 'kinfold-watcher'), [
    'apiservices.apiregistration.k8s.io list',
    'configmaps. get,list,watch',
    'deployments.apps get,list,watch',
    'pods. get,list,watch',
    'replicasets.apps get,list,watch',
    'widgets.example.com get,list,watch',
  ])
  deepEqual(rightsOf(manifests, 'kinfold-reaper'), [
    'apiservices.apiregistration.k8s.io list',
    'configmaps. delete,patch',
    'configmaps. get',
    'deployments.apps delete,patch',
    'deployments.apps get',
    'events. create,get',
    'pods. delete,patch',
    'pods. get',
    'replicasets.apps delete,patch',
    'replicasets.apps get',
    'widgets.example.com delete,patch',
    'widgets.example.com get',
  ])
})

test('with policies of the cluster the reaper may impersonate service accounts, and nobody else', async () => {
  const manifests = await printed('--kinds', 'pods', '--cleanup-policies')
  deepEqual(faults(manifests), [
    'ClusterRole kinfold-reaper-change: pods/status',
    'ClusterRole kinfold-reaper-policies: cleanuppolicies/status',
    'ClusterRole kinfold-reaper-policies: clustercleanuppolicies/status',
    'ClusterRole kinfold-reaper-impersonate: impersonate',
  ])
  const ofPolicies = (account: string): readonly string[] =>
    rightsOf(manifests, account).filter((each) => /^(cluster)?cleanup|^service/.test(each))
  deepEqual(ofPolicies('kinfold-watcher'), [
    'cleanuppolicies.kinfold.dev get,list,watch',
    'clustercleanuppolicies.kinfold.dev get,list,watch',
  ])
  deepEqual(ofPolicies('kinfold-reaper'), [
    'cleanuppolicies.kinfold.dev get',
    'cleanuppolicies/status.kinfold.dev patch',
    'clustercleanuppolicies.kinfold.dev get',
    'clustercleanuppolicies/status.kinfold.dev patch',
    'serviceaccounts. impersonate',
  ])
})

test('impersonation is bound where objects may be deleted, and nowhere else', async () => {
  const manifests = await printed(
    ...['--kinds', 'pods', '--cleanup-policies', '--only-namespaces', 'shop'],
  )
  const bindings = manifests.filter(({ roleRef }) => roleRef?.name === 'kinfold-reaper-impersonate')
  deepEqual(
    bindings.map(({ kind, metadata }) => [kind, metadata.namespace]),
    [['RoleBinding', 'shop']],
  )
})

test('the check of the rights can fail', () => {
  const role = (rule: Partial<Rule>): readonly Printed[] => [
    {
      kind: 'ClusterRole',
      metadata: { name: 'r' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'], ...rule }],
    },
  ]
  deepEqual(faults(role({})), [])
  for (const rule of [
    { verbs: ['deletecollection'] },
    { verbs: ['*'] },
    { resources: ['*'] },
    { apiGroups: ['*'] },
    { resources: ['pods/exec'] },
    { verbs: ['create'] },
    { verbs: [] },
  ]) {
    equal(faults(role(rule)).length, 1, JSON.stringify(rule))
  }
})

for (const service of ['watcher', 'reaper', 'up', 'observe'] as const) {
  test(`--service ${service} prints what that one needs`, async () => {
    const manifests = await printed('--kinds', KINDS, '--service', service, '--namespace', 'gc')
    deepEqual(faults(manifests), [])
    const accounts = manifests.filter(({ kind }) => kind === 'ServiceAccount')
    deepEqual(
      accounts.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
      [service === 'up' ? 'gc/kinfold' : `gc/kinfold-${service}`],
    )
    const policies = manifests.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
    const isReading = service === 'watcher' || service === 'observe'
    equal(policies.length, isReading ? 0 : 1)
    if (service === 'observe') {
      const verbs = new Set(
        manifests.flatMap(({ rules = [] }) => rules.flatMap((rule) => rule.verbs)),
      )
      deepEqual([...verbs].sort(), ['get', 'list', 'watch'], 'it changes nothing, no Lease either')
    }
    if (isReading) return
    equal(policies[0]?.spec?.failurePolicy, 'Fail')
    const user = `system:serviceaccount:gc:${accounts[0]?.metadata.name}`
    match(JSON.stringify(policies), new RegExp(`in \\[\\\\"${user}\\\\"\\]`))
  })
}

test('--only-namespaces gives the right to delete in these alone', async () => {
  const manifests = await printed('--kinds', KINDS, '--only-namespaces', 'shop,team-a')
  deepEqual(faults(manifests), [])
  const change = manifests.filter(({ roleRef }) => roleRef?.name === 'kinfold-reaper-change')
  deepEqual(
    change.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`),
    ['RoleBinding shop', 'RoleBinding team-a'],
  )
  match(JSON.stringify(manifests), /in \[\\"shop\\", \\"team-a\\"\]/)
})

test('--only-namespaces gives no right to delete what is in none, the Namespaces themselves among it', async () => {
  const kinds = 'configmaps,namespaces,nodes,clusterroles.rbac.authorization.k8s.io'
  const manifests = await printed('--kinds', kinds, '--only-namespaces', 'shop')
  deepEqual(faults(manifests), [])
  const rights = rightsOf(manifests, 'kinfold-reaper')
  deepEqual(
    rights.filter((right) => right.includes('delete')),
    ['configmaps. delete,patch'],
  )
  // They are owners and dependents as before.
  ok(rights.includes('namespaces. get'), rights.join())
  ok(rightsOf(manifests, 'kinfold-watcher').includes('namespaces. get,list,watch'))

  const everywhere = rightsOf(await printed('--kinds', kinds), 'kinfold-reaper')
  equal(everywhere.filter((right) => right.includes('delete')).length, 4)
})

test('no rights are printed for kinds to ignore', async () => {
  const rights = rightsOf(
    await printed('--kinds', 'pods,configmaps', '--ignore-kinds', 'pods'),
    'kinfold-reaper',
  )
  deepEqual(
    rights.filter((right) => right.includes('delete')),
    ['configmaps. delete,patch'],
  )
})

test('--protect-kinds takes kinds that are listed', async () => {
  const manifests = await printed('--kinds', KINDS, '--protect-kinds', 'pods,widgets.example.com')
  match(JSON.stringify(manifests), /in \[\\"pods\\", \\"widgets\.example\.com\\"\]/)
})

test('-o json is a list that kubectl takes', async () => {
  const { stdout } = await runKinfold(['rbac', '--kinds', 'pods', '-o', 'json'])
  const { kind, items } = JSON.parse(stdout) as { kind: string; items: readonly Printed[] }
  equal(kind, 'List')
  ok(items.length > 10)
})

type Bad = readonly [what: string, args: readonly string[], message: RegExp]

const EMPTY = /has an empty entry \(a variable that is not set\?\): .*leave/
const VAULT = ['--protect-namespaces', 'vault']

const bad: readonly Bad[] = [
  ['no kinds', [], /which kinds\? list them/],
  ['a list of commas', ['--kinds', 'pods', '--only-namespaces', ','], /which means everywhere\n$/],
  ['a wildcard', ['--kinds', '*'], /"\*" is no kind: give the plural and its group/],
  [
    'a kind with capitals',
    ['--kinds', 'ConfigMap'],
    /"ConfigMap" is no kind.* did you mean configmaps\?/,
  ],
  [
    'a kind by its singular',
    ['--kinds', 'pods,secret'],
    /"secret" is no kind.* did you mean secrets\?/,
  ],
  [
    'a singular with its group',
    ['--kinds', 'job.batch'],
    /is no kind.* did you mean jobs\.batch\?/,
  ],
  [
    'a kind of another group without it',
    ['--kinds', 'pods,deployments'],
    /"deployments" is no kind.* did you mean deployments\.apps\?/,
  ],
  ['a short name', ['--kinds', 'po,deploy'], /"po" is no kind.* did you mean pods\?/],
  [
    'a short name to ignore',
    ['--kinds', 'pods', '--ignore-kinds', 'cm'],
    /--ignore-kinds: "cm" is no kind.* did you mean configmaps\?/,
  ],
  ['a subresource', ['--kinds', 'pods/exec'], /is no kind/],
  [
    'what guards itself',
    ['--kinds', 'validatingadmissionpolicies.admissionregistration.k8s.io'],
    /is never Kinfold's to collect/,
  ],
  ['two sources', ['--kinds', 'pods', '--from-cluster'], /exclude each other/],
  ['a namespace that is none', ['--kinds', 'pods', '--namespace', 'a"b'], /is no namespace/],
  ['two namespaces of accounts', ['--kinds', 'pods', '--namespace', 'a,b'], /is no namespace/],
  ['no namespace of accounts', ['--kinds', 'pods', '--namespace', ''], /is no namespace/],
  ['a flag given twice', ['--kinds', 'pods', ...VAULT, ...VAULT], /--protect-namespaces .* twice/],
  ...['--kinds', '--only-namespaces', '--protect-namespaces', '--protect-kinds'].flatMap((flag) =>
    ['', 'pods,'].map((list): Bad => {
      const kinds = flag === '--kinds' ? [] : ['--kinds', 'pods']
      return [`${flag} ${JSON.stringify(list)}`, [...kinds, flag, list], EMPTY]
    }),
  ),
  [
    'protects by the singular',
    ['--kinds', 'secrets,pods', '--protect-kinds', 'secret'],
    /"secret" is not among the kinds .*leave it out; did you mean secrets\?/,
  ],
]

for (const [what, args, message] of bad) {
  test(`${what}: exit code 2 and a sentence`, async () => {
    const { code, stdout, stderr } = await runKinfold(['rbac', ...args])
    equal(code, 2, stdout + stderr)
    match(stderr, message)
  })
}
