/** `kinfold tree`: the dependents of an object, or its owners. */
import type { Command } from 'commander'
import type { DocumentOfOne, Shaped } from '../services/graph/api/document.ts'
import { labelOf } from '../services/graph/query/cluster-label.ts'
import type { TreeNode } from '../services/graph/query/tree.ts'
import type { ObjectFlags } from './client.ts'
import { ask, selectorParams, serverOf, warnPartial, withObject } from './client.ts'
import { outputOf, structured } from './output.ts'
import { lineOf } from './terminal.ts'
import { shortPhaseText, verdictText } from './word.ts'

const OUTPUTS = ['tree', 'json', 'yaml', 'dot', 'mermaid'] as const
type Output = (typeof OUTPUTS)[number]

type Root = Shaped<TreeNode>
type TreeDocument = DocumentOfOne & { readonly root: Root }

export function addTree(program: Command): void {
  withObject(program.command('tree'))
    .description('dependents of an object, level by level, or its owners')
    .argument('<object...>', 'KIND/NAME, KIND NAME or uid:UID')
    .option('--owners', 'upwards: its owners, and theirs')
    .option('-o, --output <format>', OUTPUTS.join(', '), 'tree')
    .action(async (words: string[], flags: ObjectFlags & { owners?: boolean; output: string }) => {
      const output = outputOf(flags.output, OUTPUTS)
      const params = selectorParams(words, flags)
      if (flags.owners) params.set('owners', 'true')
      const response = await ask(serverOf(flags), `/v1/tree?${params}`)
      const told = (await response.json()) as TreeDocument
      warnPartial(told.partial)
      process.stdout.write(render(told, output, flags.owners === true))
    })
}

export function render(told: TreeDocument, output: Output, owners: boolean): string {
  switch (output) {
    case 'json':
    case 'yaml':
      return structured(told, output)
    case 'tree':
      return `${lines(told).join('\n')}\n`
    case 'dot':
      return dot(told.root, owners)
    case 'mermaid':
      return mermaid(told.root, owners)
  }
}

/** Iterative: a chain may be ten thousand deep. */
function lines({ root, cluster }: TreeDocument): string[] {
  const out: string[] = []
  const stack: { node: Root; prefix: string; head: string }[] = [
    { node: root, prefix: '', head: '' },
  ]
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    out.push(
      at.head + lineOf(label(at.node, at.node === root ? [`cluster ${labelOf(cluster)}`] : [])),
    )
    const last = at.node.children.length - 1
    for (let i = last; i >= 0; i--) {
      const node = at.node.children[i]
      if (node === undefined) continue
      const head = `${at.prefix}${i === last ? '└─ ' : '├─ '}`
      stack.push({ node, head, prefix: `${at.prefix}${i === last ? '   ' : '│  '}` })
    }
  }
  return out
}

function label(node: Root, first: readonly string[]): string {
  const { namespace, phase, edge, repeated, verdict } = node
  const at = namespace === '' ? '' : ` -n ${namespace}`
  const notes = [
    ...first,
    phase === 'observed' ? '' : shortPhaseText(phase),
    edge === null || edge.standing === 'solid' ? '' : standingText(edge.standing),
    repeated ? 'listed above' : '',
    verdict === null || verdict.type === 'keep'
      ? ''
      : `${verdictText(verdict.type)}: ${verdict.because}`,
  ].filter((note) => note !== '')
  return `${node.kind}/${node.name}${at}${notes.length === 0 ? '' : `  (${notes.join('; ')})`}`
}

function standingText(standing: string): string {
  return standing === 'unresolvable' ? 'reference cannot be resolved' : standing
}

function walk(root: Root, visit: (node: Root, above: Root | null) => void): void {
  const queue: [Root, Root | null][] = [[root, null]]
  for (const [node, above] of queue) {
    visit(node, above)
    for (const child of node.children) queue.push([child, node])
  }
}

/** Edges point from dependent to owner, as in the dump of kube-controller-manager's collector. */
function dot(root: Root, owners: boolean): string {
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

function mermaid(root: Root, owners: boolean): string {
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
