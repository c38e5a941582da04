/** What marks name as managed, in each of its forms, and below a plan. */
import { doesNotMatch, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { mayManage } from '../../services/graph/api/word.ts'
import type { Across } from '../answer.ts'
import { acrossText, besideCascade, besidePlan } from './across-text.ts'

const [north, south] = ['north', 'south'].map((name) => ({ name, id: `id-${name}`, scope: name }))
const TOOL = { tool: 'argo', toolName: 'Argo CD' }
const SHOP = { group: 'argoproj.io', kind: 'Application', name: 'shop' }
const DELETES = { deletes: 'managed', because: 'it has the finalizer f' } as const
const OBJECT = { group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'web', uid: 'u' }
const LIVING = { phase: 'observed', createdAt: null, isKept: false } as const

const answer: Across = {
  ...{ apiVersion: 'kinfold/v1', kind: 'Across', partial: '', asOf: [] },
  asked: { kind: 'application', namespace: null, name: 'shop' },
  text: '3 objects in 2 clusters bear marks of Argo CD, and 2 dependents of them',
  managers: [
    {
      ...{ cluster: north!, ...TOOL, ...SHOP, namespace: 'argocd', uid: 'm' },
      ...{ phase: 'observed', ...DELETES },
    },
  ],
  ...{ marked: 3, kept: 1, dependents: 2 },
  ...{ gone: [], along: [] },
  parts: [
    {
      ...{ cluster: north!, manager: { ...TOOL, ...SHOP, namespace: null }, managers: 1 },
      ...{ by: north!, marked: 1, kept: 0, dependents: 2, ...DELETES },
      objects: [{ ...OBJECT, ...LIVING }],
    },
    {
      ...{ cluster: south!, manager: { ...TOOL, ...SHOP, namespace: null }, managers: 1 },
      ...{ by: north!, marked: 2, kept: 1, dependents: 0 },
      ...{ deletes: 'unknown', because: 'something else' },
      objects: [{ ...OBJECT, ...LIVING, name: 'api', phase: 'deleting', isKept: true }],
    },
  ],
}

test('as a tree: the manager, each cluster, and what is not listed', () => {
  equal(
    acrossText(answer, 'tree'),
    `Application/shop -n argocd  (cluster north; it has the finalizer f)
├─ cluster north  (1 object and 2 dependents, by the mark of Argo CD)
│  └─ Deployment/web -n shop
└─ cluster south  (2 objects, by the mark of Argo CD; something else)
   └─ Deployment/api -n shop  (being deleted; kept by a mark)
1 object not listed (raise --limit).
3 objects in 2 clusters bear marks of Argo CD, and 2 dependents of them. Seen by marks, not by owner references: Kinfold deletes nothing by them.
`,
  )
})

test('a manager that is no object is a name', () => {
  const told = acrossText({ ...answer, managers: [], parts: [] }, 'tree')
  match(told, /^application\/shop {2}\(no manager of that kind and name is seen here\)\n/)
})

test('as names, and as a table with the cluster of each', () => {
  equal(acrossText(answer, 'name'), 'deployment.apps/web\ndeployment.apps/api\n')
  match(acrossText(answer, 'wide'), /^CLUSTER +NAMESPACE +OBJECT .*\nnorth +shop +Deployment\/web/)
})

test('below a plan: the clusters, and the command that lists the objects', () => {
  equal(
    besidePlan(answer),
    `
Beside that, seen by marks and not by owner references: 3 objects in 2 clusters bear marks of Argo CD, and 2 dependents of them.
It has the finalizer f.
  north: 1 object and 2 dependents, by the mark of Argo CD
  south: 2 objects, by the mark of Argo CD; something else
"kinfold tree --across Application.argoproj.io/shop -n argocd --cluster north" lists them.
`,
  )
  equal(besidePlan({ ...answer, parts: [] }), '')
})

test('below a plan: what names an object that goes with it, and which one', () => {
  const manager = { tool: 'kinfold', toolName: 'Kinfold', group: 'example.com', kind: 'Widget' }
  const part = {
    ...{ cluster: south!, manager: { ...manager, namespace: 'shop', name: 'app' }, managers: 0 },
    ...{ by: north!, marked: 2, kept: 0, dependents: 1, deletes: 'managed' as const },
    ...{ because: 'rule far takes it along', objects: [] },
  }
  equal(
    besidePlan({ ...answer, parts: [], along: [part] }),
    `
What goes with it has dependents in other clusters, too, seen by annotations:
  south: 2 objects and 1 dependent, by kinfold.io/owner; rule far takes it along; of Widget/app -n shop
`,
  )
})

test('a name of an object forges no line', () => {
  const [part, ...rest] = answer.parts
  const forged = { ...OBJECT, ...LIVING, name: 'a\nforged' }
  const told = acrossText({ ...answer, parts: [{ ...part!, objects: [forged] }, ...rest] }, 'tree')
  doesNotMatch(told, /^forged/m)
})

test('kinds of Kubernetes itself manage nothing by marks', () => {
  for (const group of ['', 'apps', 'rbac.authorization.k8s.io']) equal(mayManage(group), false)
  for (const group of ['argoproj.io', 'helm.toolkit.fluxcd.io']) equal(mayManage(group), true)
})

test('below a cascade: what is deleted of what named it, by cluster and rule, and what is left', () => {
  equal(besideCascade({ ...answer, parts: [] }), '')
  const names = ['a', 'b', 'c'].map((name) => ({ ...OBJECT, name, goneAt: null }))
  const row = { cluster: south!, by: north!, rule: 'far', because: 'by rule far', dependents: 2 }
  const told = besideCascade({
    ...answer,
    text: 'all of it',
    parts: answer.parts.slice(1),
    gone: [
      { ...row, gone: 4, left: 1, objects: names },
      {
        ...row,
        rule: null,
        because: 'not by a rule',
        gone: 1,
        dependents: 0,
        left: 0,
        objects: [],
      },
    ],
  })
  equal(
    told,
    `Beside that, seen by annotations and marks, not by owner references: all of it.
  south: 4 objects and 2 dependents deleted (deployment.apps/a, deployment.apps/b, deployment.apps/c, …) by rule far; 1 dependent of these still there
  south: 1 object deleted (…) not by a rule
  south: 2 objects, by the mark of Argo CD; something else
`,
  )
})
