/**
 * Each mark names its manager as its tool writes it, and what the tool itself would not take for
 * one of its own counts for nothing. The values are as the tools write them.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Pair } from '../../core/model/object.ts'
import {
  isKeptBy,
  isManager,
  MANAGER_MARKS,
  type Manager,
  type Marked,
  managersOf,
  markKeys,
  NO_MARKS,
  TOOLS,
} from './manager-mark.ts'

const ALL = { tools: TOOLS, argoInstanceLabel: 'argocd.argoproj.io/instance' }

const WEB: Marked = {
  ...{ group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'web', scope: 'Namespaced' },
  ...{ labels: [], annotations: [], ownerReferences: [] },
}
const ROLE: Marked = {
  ...WEB,
  ...{ group: 'rbac.authorization.k8s.io', kind: 'ClusterRole', namespace: '', scope: 'Cluster' },
}

/** `@key=value` is an annotation, `KIND.GROUP/NAME` an owner, of which `!` is the controller. */
function withMarks(object: Marked, words: readonly string[]): Marked {
  const [labels, annotations]: [Pair[], Pair[]] = [[], []]
  const owners: Marked['ownerReferences'][number][] = []
  for (const word of words) {
    const [, at, key, value] = /^(@?)([^=]+)=(.*)$/.exec(word) ?? []
    const [, kind, group, name, bang] = /^(\w+)\.([\w.-]+)\/([^!]+)(!?)$/.exec(word) ?? []
    if (key !== undefined) (at === '@' ? annotations : labels).push({ key, value: value ?? '' })
    else {
      const rest = { blockOwnerDeletion: null, uid: 'u' }
      const owner = { apiVersion: `${group}/v1`, kind: kind ?? '', name: name ?? '' }
      owners.push({ ...owner, ...rest, controller: bang === '!' ? true : null })
    }
  }
  return { ...object, labels, annotations, ownerReferences: owners }
}

function text({ tool, group, kind, namespace, name }: Manager): string {
  return `${tool} ${kind ?? '*'}.${group} ${namespace ?? '?'}/${name}`
}

const ID = '@argocd.argoproj.io/tracking-id='
const HASH = 'e1bd9ad7b0d5f0e6c9a2f0f1'

const cases: readonly (readonly [string, Marked, readonly string[], readonly string[]])[] = [
  ['no mark', WEB, ['app=web'], []],
  [
    'a tracking id',
    WEB,
    [`${ID}shop:apps/Deployment:shop/web`],
    ['argo Application.argoproj.io ?/shop'],
  ],
  [
    'a tracking id of an application in any namespace',
    WEB,
    [`${ID}team-a_shop:apps/Deployment:shop/web`],
    ['argo Application.argoproj.io team-a/shop'],
  ],
  [
    'a tracking id of an object without a namespace, with that of the destination',
    ROLE,
    [`${ID}shop:rbac.authorization.k8s.io/ClusterRole:shop/web`],
    ['argo Application.argoproj.io ?/shop'],
  ],
  ['a tracking id of another name', WEB, [`${ID}shop:apps/Deployment:shop/other`], []],
  ['a tracking id of another namespace', WEB, [`${ID}shop:apps/Deployment:other/web`], []],
  ['a tracking id of another kind', WEB, [`${ID}shop:apps/ReplicaSet:shop/web`], []],
  ['a text that is no tracking id', WEB, [`${ID}shop`], []],
  ['a tracking id without an application', WEB, [`${ID}:apps/Deployment:shop/web`], []],
  [
    'the label that Argo CD is set to track by',
    WEB,
    ['argocd.argoproj.io/instance=shop'],
    ['argo Application.argoproj.io ?/shop'],
  ],
  ['the label of charts, which is not read', WEB, ['app.kubernetes.io/instance=shop'], []],
  [
    'both, once',
    WEB,
    [`${ID}shop:apps/Deployment:shop/web`, 'argocd.argoproj.io/instance=shop'],
    ['argo Application.argoproj.io ?/shop'],
  ],
  [
    'a Kustomization',
    WEB,
    ['kustomize.toolkit.fluxcd.io/name=apps', 'kustomize.toolkit.fluxcd.io/namespace=flux-system'],
    ['flux Kustomization.kustomize.toolkit.fluxcd.io flux-system/apps'],
  ],
  ['half a mark', WEB, ['kustomize.toolkit.fluxcd.io/name=apps'], []],
  [
    'a HelmRelease, and the release that it made',
    WEB,
    [
      ...['helm.toolkit.fluxcd.io/name=web', 'helm.toolkit.fluxcd.io/namespace=flux-system'],
      ...['app.kubernetes.io/managed-by=Helm', '@meta.helm.sh/release-name=shop-web'],
      '@meta.helm.sh/release-namespace=shop',
    ],
    [
      'flux HelmRelease.helm.toolkit.fluxcd.io flux-system/web',
      'helm Release.helm.sh shop/shop-web',
    ],
  ],
  [
    'annotations of a release without its label',
    WEB,
    ['@meta.helm.sh/release-name=web', '@meta.helm.sh/release-namespace=shop'],
    [],
  ],
  [
    'an AppliedManifestWork that owns it',
    WEB,
    [`AppliedManifestWork.work.open-cluster-management.io/${HASH}-web-work`],
    ['ocm ManifestWork.work.open-cluster-management.io ?/web-work'],
  ],
  [
    'an owner of that kind in another group',
    WEB,
    [`AppliedManifestWork.example.com/${HASH}-web`],
    [],
  ],
  [
    'a ResourceBinding',
    WEB,
    [
      '@resourcebinding.karmada.io/name=web-deployment',
      '@resourcebinding.karmada.io/namespace=shop',
    ],
    ['karmada ResourceBinding.work.karmada.io shop/web-deployment'],
  ],
  [
    'a ClusterResourceBinding',
    ROLE,
    ['@clusterresourcebinding.karmada.io/name=web-clusterrole'],
    ['karmada ClusterResourceBinding.work.karmada.io /web-clusterrole'],
  ],
  [
    'a claim, on what a composite composes',
    { ...WEB, namespace: '', scope: 'Cluster', name: 'db-x1-abc' },
    [
      ...['crossplane.io/claim-name=db', 'crossplane.io/claim-namespace=shop'],
      ...['crossplane.io/composite=db-x1', 'XDatabase.example.org/db-x1!'],
    ],
    ['crossplane *.example.org shop/db'],
  ],
  [
    'a claim, on the composite itself',
    { ...WEB, group: 'example.org', kind: 'XDatabase', namespace: '', name: 'db-x1' },
    [
      ...['crossplane.io/claim-name=db', 'crossplane.io/claim-namespace=shop'],
      'crossplane.io/composite=db-x1',
    ],
    ['crossplane *.example.org shop/db'],
  ],
  [
    'labels of a claim on an object that no composite owns',
    WEB,
    ['crossplane.io/claim-name=db', 'crossplane.io/claim-namespace=shop'],
    [],
  ],
]

for (const [name, object, words, expected] of cases) {
  test(`reads ${name}`, () => {
    const marked = withMarks(object, words)
    deepEqual(managersOf(marked, ALL).map(text), expected)
    deepEqual(managersOf(marked, NO_MARKS), [])
  })
}

test('each row is shown by a case, and reads keys that are published', () => {
  const shown = new Set(
    cases
      .flatMap(([, object, words]) => managersOf(withMarks(object, words), ALL))
      .map(({ mark }) => mark),
  )
  deepEqual(
    MANAGER_MARKS.filter((mark) => !shown.has(mark)),
    [],
  )
  const { labels, annotations } = markKeys(ALL)
  const read = new Set([...labels, ...annotations.map((key) => `@${key}`)])
  for (const [, object, words] of cases) {
    const kept = words.filter((word) => !word.includes('=') || read.has(word.split('=')[0] ?? ''))
    const [all, published] = [words, kept].map((each) => managersOf(withMarks(object, each), ALL))
    deepEqual(published, all)
  }
})

test('a tool that is not asked for is not read, and with none nothing is published', () => {
  deepEqual(markKeys(NO_MARKS), { labels: [], annotations: [] })
  deepEqual(markKeys({ tools: ['argo'], argoInstanceLabel: null }), {
    labels: [],
    annotations: ['argocd.argoproj.io/sync-options', 'argocd.argoproj.io/tracking-id'],
  })
  for (const tool of TOOLS) {
    for (const [, object, words] of cases) {
      const found = managersOf(withMarks(object, words), { ...ALL, tools: [tool] })
      ok(found.every((each) => each.tool === tool))
    }
  }
})

const KEPT = [
  ['argo', '@argocd.argoproj.io/sync-options=Prune=false, Delete=false', true],
  ['argo', '@argocd.argoproj.io/sync-options=Delete=confirm', true],
  ['argo', '@argocd.argoproj.io/sync-options=Prune=false', false],
  ['flux', 'kustomize.toolkit.fluxcd.io/prune=disabled', true],
  ['flux', '@kustomize.toolkit.fluxcd.io/prune=Disabled', true],
  ['helm', '@helm.sh/resource-policy=keep', true],
  ['helm', 'helm.sh/resource-policy=keep', false],
  ['karmada', '@helm.sh/resource-policy=keep', false],
] as const

test('a tool keeps what its own mark says, and nothing for another tool', () => {
  for (const [tool, word, expected] of KEPT) {
    equal(isKeptBy(tool, withMarks(WEB, [word])), expected, `${tool} ${word}`)
  }
})

test('an object is the manager only by all that the mark says', () => {
  const [argo] = managersOf(withMarks(WEB, [`${ID}a_shop:apps/Deployment:shop/web`]), ALL)
  const object = { group: 'argoproj.io', kind: 'Application', namespace: 'a', name: 'shop' }
  equal(argo !== undefined && isManager(argo, object), true)
  for (const other of [{ namespace: 'b' }, { name: 'x' }, { kind: 'AppProject' }, { group: '' }]) {
    equal(argo !== undefined && isManager(argo, { ...object, ...other }), false)
  }
})
