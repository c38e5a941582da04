/** What `kinfold tree` prints: as a tree, a table, names, DOT or Mermaid. */

import { shellWord } from '../../core/model/text.ts'
import { ageText, labelOf, phaseText, shortText, withHeld } from '../../services/graph/api/word.ts'
import { deletedSentence } from '../../web/deletion-text.ts'
import type { TreeNode as Root, Tree as TreeDocument } from '../answer.ts'
import { misnamedText } from '../print/misnamed.ts'
import { structured } from '../print/output.ts'
import { paint, type Style, styleOfPhase, styleOfVerdict } from '../print/paint.ts'
import { table } from '../print/table.ts'
import { lineOf } from '../print/terminal.ts'
import { usesText } from '../print/uses-text.ts'
import { countOf, objectName } from '../print/word.ts'
import type { ObjectFlags } from '../reach/client.ts'
import { warnPartial } from '../reach/client.ts'
import type { Live } from '../reach/live.ts'

export type Output = 'tree' | 'wide' | 'name' | 'json' | 'yaml' | 'dot' | 'mermaid'

/** What an answer calls objects that may not be shown. */
const HIDDEN = 'hidden'

/** By uid. */
type LiveOf = ReadonlyMap<string, Live>

/** `moment`: in words, for people; undefined for now. */
type TreeAnswer = TreeDocument & { readonly moment?: string | undefined }

/** Of the cluster that the answer is about, or refused. */
export async function liveOf(answer: TreeDocument, flags: ObjectFlags): Promise<LiveOf> {
  const { openOwnCluster } = await import('../reach/own-cluster.ts')
  const { readLive } = await import('../reach/live.ts')
  await using own = await openOwnCluster('tree', flags)
  own.check(answer.cluster)
  const nodes = [...drawn(answer.root)].filter(({ node }) => !node.repeated && node.uid !== HIDDEN)
  const live = await readLive(
    own,
    nodes.map(({ node }) => node),
  )
  const unread = [...live.values()].flatMap((each) => (each.type === 'Unknown' ? each.because : []))
  if (unread[0] !== undefined) {
    warnPartial(`${countOf(unread.length, 'object')} could not be read live: ${unread[0]}`)
  }
  return live
}

/** `now`: for ages. */
export function render(
  { moment, ...answer }: TreeAnswer,
  output: Output,
  owners: boolean,
  live?: LiveOf,
  now: number = Date.now(),
): string {
  const below = owners ? '' : namespaceText(answer)
  const beside = misnamedText(answer.misnamed, answer.root) + below + usesText(answer.uses)
  switch (output) {
    case 'json':
    case 'yaml':
      if (live !== undefined) addLive(answer.root, live)
      return structured(answer, output)
    case 'name':
      return namesIn(answer.root).join('')
    case 'wide':
      return rows(answer, [...(live === undefined ? [] : liveColumns(live, now)), ...WIDE]) + beside
    case 'tree':
      if (live !== undefined) return rows(answer, liveColumns(live, now)) + beside
      return `${[...whoLines(answer, now), ...lines(answer, moment)].join('\n')}\n${beside}`
    case 'dot':
      return dot(answer.root, owners)
    case 'mermaid':
      return mermaid(answer.root, owners)
  }
}

/** Who asks for the tree of a namespace means what is in it, which no reference says. */
function namespaceText({ root, cluster }: TreeDocument): string {
  const { group, kind, name, phase, children } = root
  if (group !== '' || kind !== 'Namespace' || phase === 'gone' || children.length > 0) return ''
  // Of several clusters each may have one of that name.
  const [at, within] = [shellWord(name), ` --cluster ${shellWord(cluster.scope)}`]
  return `Objects are in a namespace, not owned by it: "kinfold get all -n ${at}${within}" lists them, "kinfold plan delete ns/${at}${within}" what its deletion takes along.\n`
}

/** Above the tree of what was deleted, which is that before its deletion. */
function whoLines({ root, deletion, deletedAt }: TreeDocument, now: number): readonly string[] {
  if (deletion === null) return []
  const isOver = root.phase === 'gone'
  const before = isOver && root.children.length > 0 ? ' Before that:' : ''
  return [`${lineOf(deletedSentence({ at: deletedAt, isOver }, deletion, now))}${before}`]
}

function lines({ root, cluster }: TreeDocument, moment: string | undefined): string[] {
  const first = [`cluster ${labelOf(cluster)}`, moment ?? '']
  return [...drawn(root)].map(({ node, head }) => {
    return head + lineOf(label(node, node === root ? first : []))
  })
}

/** Each object once, in the order of the tree. */
function namesIn(root: Root): string[] {
  const nodes = [...drawn(root)].filter(({ node }) => !node.repeated)
  return nodes.map(({ node }) => `${lineOf(objectName(node))}\n`)
}

interface Column {
  readonly title: string
  cell(node: Root): string
  style?(node: Root): Style | undefined
}

const WIDE: readonly Column[] = [
  {
    title: 'STATE',
    cell: ({ phase }) => phaseText(phase),
    style: ({ phase }) => styleOfPhase(phase),
  },
  { title: 'UID', cell: ({ uid }) => uid },
  { title: 'NOTES', cell: (node) => notesOf(node).join('; ') },
]

function liveColumns(live: LiveOf, now: number): readonly Column[] {
  const cell =
    (found: (each: Live & { type: 'Found' }) => string, absent = '-') =>
    ({ uid }: Root): string => {
      const each = live.get(uid)
      if (each?.type === 'Found') return found(each) || '-'
      return each?.type === 'NotFound' ? absent : '?'
    }
  const status = cell((each) => each.status, 'NotFound')
  return [
    { title: 'READY', cell: cell(({ ready }) => ready) },
    { title: 'REASON', cell: cell(({ reason }) => reason) },
    { title: 'STATUS', cell: status, style: (node) => STATUS_STYLES[status(node)] },
    {
      title: 'AGE',
      cell: cell(({ createdAt }) => (createdAt === null ? '' : ageText(now - createdAt))),
    },
  ]
}

const STATUS_STYLES: Readonly<Record<string, Style>> = {
  Current: 'green',
  InProgress: 'yellow',
  Terminating: 'yellow',
  Failed: 'red',
  NotFound: 'gray',
}

/** As a table, the tree in its names. */
function rows({ root, cluster }: TreeDocument, more: readonly Column[]): string {
  const all = [...drawn(root)]
  const cells = all.map(({ node, head }) => {
    const beside = more.map((column) => column.cell(node))
    return [node.namespace, `${head}${node.kind}/${node.name}`, ...beside]
  })
  const head = ['NAMESPACE', 'NAME', ...more.map(({ title }) => title)]
  const body = table(head, cells, (row, column) => {
    const node = all[row]?.node
    return node === undefined ? undefined : more[column - 2]?.style?.(node)
  })
  return `Cluster ${lineOf(labelOf(cluster))}\n${body}`
}

/** Null for what could not be read. */
function addLive(root: Root, live: LiveOf): void {
  for (const { node } of drawn(root)) Object.assign(node, { live: documentOf(live.get(node.uid)) })
}

function documentOf(each: Live | undefined): object | null {
  if (each?.type === 'NotFound') return { status: 'NotFound' }
  if (each?.type !== 'Found') return null
  const { ready, reason, status, createdAt } = each
  const time = createdAt === null ? null : new Date(createdAt).toISOString()
  return { ready, reason, status, createdAt: time }
}

interface Drawn {
  readonly node: Root
  /** What is drawn before it. */
  readonly head: string
}

/** Iterative: a chain may be ten thousand deep. */
function* drawn(root: Root): Iterable<Drawn> {
  const stack: { node: Root; prefix: string; head: string }[] = [
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

function label(node: Root, first: readonly string[]): string {
  const { namespace, phase } = node
  const at = namespace === '' ? '' : ` -n ${namespace}`
  const state = phase === 'observed' ? '' : paint(phaseText(phase), styleOfPhase(phase))
  const notes = [...first, state, ...notesOf(node)].filter((note) => note !== '')
  return `${node.kind}/${node.name}${at}${notes.length === 0 ? '' : `  (${notes.join('; ')})`}`
}

/** Beside its state. */
function notesOf({ edge, repeated, verdict, admission }: Root): readonly string[] {
  return [
    edge === null || edge.standing === null || edge.standing === 'solid'
      ? ''
      : standingText(edge.standing),
    repeated ? 'listed above' : '',
    verdict === null || verdict.type === 'keep'
      ? ''
      : `${paint(shortText(verdict.type, admission), styleOfVerdict(verdict.type, admission))}: ${withHeld(verdict.because, admission)}`,
  ].filter((note) => note !== '')
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

/** Edges point from owner to dependent, as in every picture. */
function dot(root: Root, owners: boolean): string {
  const nodes: string[] = []
  const edges: string[] = []
  walk(root, (node, above) => {
    if (!node.repeated)
      nodes.push(`  ${quote(node.uid)} [label=${quote(`${node.kind}/${node.name}`)}];`)
    if (above === null) return
    const [from, to] = owners ? [node, above] : [above, node]
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
