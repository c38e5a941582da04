/**
 * Splits a CPU profile of V8 (`node --cpu-prof`) by the parts of Kinfold.
 *
 * What must stay true: each sample counts once, for the part that is nearest above it on the stack;
 * so what the parts share (codec, hashes, Node's own modules) counts for the caller.
 *
 * Not here: other threads, and V8's collector outside of the main thread.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The first that matches the path of a module. */
const PARTS: readonly (readonly [RegExp, string])[] = [
  [/\/adapters\/kubernetes\/|\/undici\//, 'API client'],
  [/\/services\/watcher\//, 'watcher'],
  [/\/adapters\/sqlite\//, 'log'],
  [/\/adapters\/level\/|\/classic-level\/|\/abstract-level\//, 'store'],
  [/\/services\/graph\/fold\//, 'fold'],
  [/\/services\/graph\/query\/|\/services\/graph\/actors\//, 'indexes'],
  [/\/services\/graph\/audit\/|\/services\/reaper\//, 'reaper, audits'],
  [/\/cli\/|\/runtime\/|\/services\/graph\//, 'the rest of the program'],
]

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string }
  readonly children?: readonly number[]
}

interface Profile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  /** Microseconds since the sample before. */
  readonly timeDeltas: readonly number[]
}

/** Microseconds of the main thread by part, idle time left out, the largest first. */
export function partsOf(directory: string): ReadonlyMap<string, number> {
  const [file] = readdirSync(directory).filter((name) => name.endsWith('.cpuprofile'))
  if (file === undefined) throw new Error(`there is no profile in ${directory}`)
  const profile = JSON.parse(readFileSync(join(directory, file), 'utf8')) as Profile
  const partOf = partOfEach(profile.nodes)
  const sums = new Map<string, number>()
  for (const [at, id] of profile.samples.entries()) {
    const part = partOf.get(id) ?? 'idle'
    if (part !== 'idle') sums.set(part, (sums.get(part) ?? 0) + (profile.timeDeltas[at] ?? 0))
  }
  return new Map([...sums].sort(([, one], [, other]) => other - one))
}

function partOfEach(nodes: readonly ProfileNode[]): ReadonlyMap<number, string> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parts = new Map<number, string>()
  const [root] = nodes
  const todo = root === undefined ? [] : [{ id: root.id, above: 'Node and V8' }]
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const node = byId.get(next.id)
    if (node === undefined) continue
    const part = ownPart(node) ?? next.above
    parts.set(node.id, part)
    for (const id of node.children ?? []) todo.push({ id, above: part })
  }
  return parts
}

function ownPart({ callFrame: { functionName, url } }: ProfileNode): string | undefined {
  if (functionName === '(garbage collector)') return 'collector'
  if (functionName === '(idle)' || functionName === '(program)') return 'idle'
  return PARTS.find(([path]) => path.test(url))?.[1]
}
