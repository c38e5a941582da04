/** A tree in each of its forms. */
import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { documentOf } from '../../services/graph/api/document.ts'
import type { TreeNode } from '../../services/graph/query/answer/tree.ts'
import type { Live } from '../reach/live.ts'
import { render } from './tree-text.ts'

function node(kind: string, name: string, ...children: TreeNode[]): TreeNode {
  return {
    group: '',
    kind,
    namespace: 'shop',
    name,
    uid: `${kind}-${name}`,
    phase: 'observed',
    edge: { standing: 'solid', controller: true, blocking: true },
    verdict: { type: 'keep', because: 'its owner exists' },
    ...{ admission: null, doubt: null, deletion: null },
    repeated: false,
    createdAt: null,
    children,
  }
}

const cluster = { name: 'north', id: 'c-1', scope: 'north' }

const tree = node('Deployment', 'web', node('ReplicaSet', 'a', node('Pod', '1')), {
  ...node('Pod', 'x"y'),
  phase: 'deleting',
  verdict: { type: 'delete', because: 'its owner no longer exists' },
})

const misnamed = { references: [], hidden: 0, isCut: false }

function told(root: TreeNode) {
  return documentOf('Tree', {
    answer: { root, misnamed, deletion: null, deletedAt: null, uses: null },
    partial: '',
    cluster,
    asOf: [],
  })
}

const root = told(tree)

test('as a tree, with the cluster in its first line', () => {
  equal(
    render(root, 'tree', false),
    `Deployment/web -n shop  (cluster north)
├─ ReplicaSet/a -n shop
│  └─ Pod/1 -n shop
└─ Pod/x"y -n shop  (being deleted; delete: its owner no longer exists)
`,
  )
  const shared = { ...root, cluster: { ...cluster, scope: 'c-1' } }
  match(render(shared, 'tree', false), /^Deployment\/web -n shop {2}\(cluster north \(c-1\)\)\n/)
})

test('what bears the uid of the root and names another is told below the tree, and apart', () => {
  const object = { group: '', kind: 'Pod', namespace: 'evil', name: 'x\u001b[2J', uid: 'u' }
  const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
  const odd = { references: [{ ...object, reference }], hidden: 1, isCut: true }
  match(
    render({ ...root, misnamed: odd }, 'tree', false),
    /\nat least 2 references with the uid of Deployment\/web and another namespace, kind or name: no dependents\n {2}pod\/x\ufffd?\S* -n evil \(names apps\/v1 Deployment\/web\)\n {2}1 of them hidden\n$/,
  )
})

test('a dependent whose reference cannot be resolved is marked', () => {
  const edge = { standing: 'unresolvable', controller: false, blocking: false } as const
  const odd = { ...node('Pod', 'odd'), edge, verdict: null }
  const owner = told(node('ReplicaSet', 'a', odd))
  match(
    render(owner, 'tree', false),
    /\n└─ Pod\/odd -n shop {2}\(reference cannot be resolved\)\n$/,
  )
})

test('as DOT, from dependent to owner, with quotes escaped', () => {
  const dot = render(root, 'dot', false)
  match(dot, /"Deployment-web" -> "ReplicaSet-a";/)
  match(dot, /label="Pod\/x\\"y"/)
})

test('as Mermaid, from owner to dependent', () => {
  match(render(root, 'mermaid', false), /n0 --> n1/)
  match(render(root, 'mermaid', false), /\["Pod\/x#34;y"\]/)
})

test('as JSON and YAML, in an envelope', () => {
  equal((JSON.parse(render(root, 'json', false)) as { kind: string }).kind, 'Tree')
  match(
    render(root, 'yaml', false),
    /^apiVersion: kinfold\/v1\nkind: Tree\ncluster:\n {2}name: north\n {2}id: c-1\n {2}scope: north\npartial: ""\nroot:\n/,
  )
})

test('a chain of two thousand is no problem', () => {
  let chain = node('Pod', '0')
  for (let i = 1; i < 2_000; i++) chain = node('Pod', String(i), chain)
  // Nothing holds these, so they are as they are answered.
  const deep = { ...root, root: chain as typeof root.root }
  equal(render(deep, 'tree', false).split('\n').length, 2_001)
})

test('wide is a table with uids, and names are those of kubectl, each once', () => {
  const shared = { ...node('Secret', 's'), repeated: true }
  const answer = {
    ...tree,
    group: 'apps',
    children: [...tree.children, node('Secret', 's'), shared],
  }
  const all = told(answer)
  equal(
    render(all, 'wide', false),
    `Cluster north
NAMESPACE   NAME              STATE           UID              NOTES
shop        Deployment/web    exists          Deployment-web
shop        ├─ ReplicaSet/a   exists          ReplicaSet-a
shop        │  └─ Pod/1       exists          Pod-1
shop        ├─ Pod/x"y        being deleted   Pod-x"y          delete: its owner no longer exists
shop        ├─ Secret/s       exists          Secret-s
shop        └─ Secret/s       exists          Secret-s         listed above
`,
  )
  const names = 'deployment.apps/web\nreplicaset/a\npod/1\npod/x"y\nsecret/s\n'
  equal(render(all, 'name', false), names)
})

test('live with what the cluster says; what could not be read is unknown', () => {
  const NOW = 1_000_000_000
  const found = { type: 'Found', ready: 'True', reason: '', status: 'Current' } as const
  const live = new Map<string, Live>([
    ['Deployment-web', { ...found, createdAt: NOW - 3 * 3_600_000 }],
    ['ReplicaSet-a', { ...found, ready: '-', status: 'InProgress', createdAt: NOW - 5_000 }],
    ['Pod-1', { type: 'Unknown', because: 'forbidden' }],
    ['Pod-x"y', { type: 'NotFound' }],
  ])
  equal(
    render(root, 'tree', false, live, NOW),
    `Cluster north
NAMESPACE   NAME              READY   REASON   STATUS       AGE
shop        Deployment/web    True    -        Current      3h
shop        ├─ ReplicaSet/a   -       -        InProgress   5s
shop        │  └─ Pod/1       ?       ?        ?            ?
shop        └─ Pod/x"y        -       -        NotFound     -
`,
  )
  const told = structuredClone(root)
  const document = JSON.parse(render(told, 'json', false, live, NOW))
  equal(document.root.live.createdAt, new Date(NOW - 3 * 3_600_000).toISOString())
  equal(document.root.children[0].children[0].live, null)
  match(render(root, 'wide', false, live, NOW), /AGE +STATE +UID +NOTES\n/)
})

test('the tree of a namespace says that what is in it is asked for elsewhere (C18)', () => {
  const bare = { ...node('Namespace', 'shop'), namespace: '' }
  equal(
    render(told(bare), 'tree', false),
    `Namespace/shop  (cluster north)
Objects are in a namespace, not owned by it: "kinfold get all -n shop --cluster north" lists them, "kinfold plan delete ns/shop --cluster north" what its deletion takes along.
`,
  )
  equal(render(told(bare), 'tree', true), 'Namespace/shop  (cluster north)\n')
  equal(render(told(bare), 'name', false), 'namespace/shop\n')
})
