/** `kinfold tree`: the dependents of an object, or its owners. */
import type { Command } from 'commander'
import { labelOf } from '../services/graph/query/cluster-label.ts'
import type { TreeNode } from '../services/graph/query/tree.ts'
import type { ObjectFlags } from './client.ts'
import { ask, warnPartial, withObject } from './client.ts'
import { outputOf, structured, type ToldOfOne } from './output.ts'
import { paint, styleOfPhase, styleOfVerdict } from './paint.ts'
import { questionOf } from './scope.ts'
import { table } from './table.ts'
import { lineOf } from './terminal.ts'
import { objectName, shortPhaseText, verdictText } from './word.ts'

const OUTPUTS = ['tree', 'wide', 'name', 'json', 'yaml', 'dot', 'mermaid'] as const
type Output = (typeof OUTPUTS)[number]

export function addTree(program: Command): void {
  withObject(program.command('tree'))
    .description('dependents of an object, level by level, or its owners')
    .argument('<object...>', 'KIND/NAME, KIND NAME or uid:UID')
    .option('--owners', 'upwards: its owners, and theirs')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'tree')
    .action(async (words: string[], flags: ObjectFlags & { owners?: boolean; output: string }) => {
      const output = outputOf(flags.output, OUTPUTS)
      const { server, params } = await questionOf(words, flags)
      if (flags.owners) params.set('owners', 'true')
      const response = await ask(server, `/v1/tree?${params}`)
      const told = (await response.json()) as ToldOfOne<TreeNode>
      warnPartial(told.partial)
      process.stdout.write(render(told, output, flags.owners === true))
    })
}

export function render(told: ToldOfOne<TreeNode>, output: Output, owners: boolean): string {
  switch (output) {
    case 'json':
    case 'yaml':
      return structured('Tree', told, output)
    case 'name':
      return namesIn(told.answer).join('')
    case 'wide':
      return wide(told)
    case 'tree':
      return `${lines(told).join('\n')}\n`
    case 'dot':
      return dot(told.answer, owners)
    case 'mermaid':
      return mermaid(told.answer, owners)
  }
}

function lines({ answer: root, cluster }: ToldOfOne<TreeNode>): string[] {
  return [...drawn(root)].map(({ node, head }) => {
    return head + lineOf(label(node, node === root ? [`cluster ${labelOf(cluster)}`] : []))
  })
}

/** Each object once, in the order of the tree. */
function namesIn(root: TreeNode): string[] {
  const nodes = [...drawn(root)].filter(({ node }) => !node.repeated)
  return nodes.map(({ node }) => `${lineOf(objectName(node))}\n`)
}

function wide({ answer: root, cluster }: ToldOfOne<TreeNode>): string {
  const all = [...drawn(root)]
  const rows = all.map(({ node, head }) => {
    const { namespace, kind, name, phase, uid } = node
    return [
      namespace,
      `${head}${kind}/${name}`,
      shortPhaseText(phase),
      uid,
      notesOf(node).join('; '),
    ]
  })
  const head = ['NAMESPACE', 'NAME', 'STATE', 'UID', 'NOTES']
  const body = table(head, rows, (row, column) =>
    column === 2 ? styleOfPhase(all[row]?.node.phase ?? '') : undefined,
  )
  return `Cluster ${lineOf(labelOf(cluster))}\n${body}`
}

interface Drawn {
  readonly node: TreeNode
  /** What is drawn before it. */
  readonly head: string
}

/** Iterative: a chain may be ten thousand deep. */
function* drawn(root: TreeNode): Iterable<Drawn> {
  const stack: { node: TreeNode; prefix: string; head: string }[] = [
    { node: root, prefix: '', head: '' },
  ]
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    yield at
    const last = at.node.children.length - 1
    for (let i = last; i >= 0; i--) {
      const node = at.node.children[i]
      if (node === undefined) continue
      const head = `${at.prefix}${i === last ? '└─ ' : '├─ '}`
      stack.push({ node, head, prefix: `${at.prefix}${i === last ? '   ' : '│  '}` })
    }
  }
}

function label(node: TreeNode, first: readonly string[]): string {
  const { namespace, phase } = node
  const at = namespace === '' ? '' : ` -n ${namespace}`
  const state = phase === 'observed' ? '' : paint(shortPhaseText(phase), styleOfPhase(phase))
  const notes = [...first, state, ...notesOf(node)].filter((note) => note !== '')
  return `${node.kind}/${node.name}${at}${notes.length === 0 ? '' : `  (${notes.join('; ')})`}`
}

/** Beside its state. */
function notesOf({ edge, repeated, verdict }: TreeNode): readonly string[] {
  return [
    edge === null || edge.standing === 'solid' ? '' : standingText(edge.standing),
    repeated ? 'listed above' : '',
    verdict === null || verdict.type === 'keep'
      ? ''
      : `${paint(verdictText(verdict.type), styleOfVerdict(verdict.type))}: ${verdict.because}`,
  ].filter((note) => note !== '')
}

function standingText(standing: string): string {
  return standing === 'unresolvable' ? 'reference cannot be resolved' : standing
}

function walk(root: TreeNode, visit: (node: TreeNode, above: TreeNode | null) => void): void {
  const queue: [TreeNode, TreeNode | null][] = [[root, null]]
  for (const [node, above] of queue) {
    visit(node, above)
    for (const child of node.children) queue.push([child, node])
  }
}

/** Edges point from dependent to owner, as in the dump of kube-controller-manager's collector. */
function dot(root: TreeNode, owners: boolean): string {
  const nodes: string[] = []
  const edges: string[] = []
  walk(root, (node, above) => {
    if (!node.repeated)
      nodes.push(`  ${quote(node.uid)} [label=${quote(`${node.kind}/${node.name}`)}];`)
    if (above === null) return
    const [from, to] = owners ? [above, node] : [node, above]
    edges.push(`  ${quote(from.uid)} -> ${quote(to.uid)};`)
  })
  return ['strict digraph full {', ...nodes, ...edges, '}', ''].join('\n')
}

function mermaid(root: TreeNode, owners: boolean): string {
  const ids = new Map<string, string>()
  const out = ['graph TD']
  walk(root, (node, above) => {
    if (!ids.has(node.uid)) {
      ids.set(node.uid, `n${ids.size}`)
      const text = lineOf(`${node.kind}/${node.name}`).replace(
        /["&<>]/g,
        (c) => `#${c.charCodeAt(0)};`,
      )
      out.push(`  ${ids.get(node.uid)}["${text}"]`)
    }
    if (above === null) return
    const [owner, dependent] = owners ? [node, above] : [above, node]
    out.push(`  ${ids.get(owner.uid)} --> ${ids.get(dependent.uid)}`)
  })
  return `${out.join('\n')}\n`
}

function quote(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`
}
