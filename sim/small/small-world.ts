/**
 * Small worlds, exhaustively: at most four objects and three owners, in every order of events.
 * `npm run sim:small` runs more of them than the tests do.
 *
 * What must stay true: a family ends at its first wrong world only if it is asked to; the number of
 * ways is counted, never estimated.
 *
 * Not here: chance, clusters, processes (world.ts).
 */
import { parseArgs } from 'node:util'
import { allFaults } from './small-fault.ts'
import { allLoops } from './small-loop.ts'
import { allOrders } from './small-order.ts'
import { allWays } from './small-rule.ts'
import { RULE_WORLDS } from './small-rule-world.ts'
import { listedShapes, loopShapes, shapes } from './small-shape.ts'
import type { Findings } from './small-verdict.ts'

export type Family = 'orders' | 'lists' | 'faults' | 'loops' | 'faulty loops' | 'rules'

/** First those that find a mistake soonest. */
export const FAMILIES: readonly Family[] = [
  ...(['loops', 'orders', 'faults', 'lists', 'faulty loops', 'rules'] as const),
]

export interface WalkOptions {
  /** Of ways through one closed loop. */
  readonly maxCases: number
  /** Complaints after which a family is left. */
  readonly maxComplaints: number
  /** Of all worlds of the family, the first of every so many; 1 unless given. */
  readonly every?: number
}

export interface Walk extends Findings {
  readonly worlds: number
}

export function walk(family: Family, { maxCases, maxComplaints, every = 1 }: WalkOptions): Walk {
  let worlds = 0
  let cases = 0
  let folded = 0
  let cut = 0
  const complaints: string[] = []
  for (const world of worldsOf(family).filter((_, index) => index % every === 0)) {
    const found = walked(family, world, maxCases)
    worlds += 1
    cases += found.cases
    folded += found.folded
    cut += found.cut
    complaints.push(...found.complaints)
    if (complaints.length >= maxComplaints) break
  }
  return { worlds, cases, folded, cut, complaints }
}

/** Ways of a closed loop that are run in search of a mistake. */
const SEARCHED_CASES = 1_500

/** In all worlds of a family, or in one, by its name. */
export function firstComplaint(
  family: Family,
  only?: string,
): { readonly world: string; readonly wrong: string } | undefined {
  for (const world of worldsOf(family)) {
    if (only !== undefined && nameOf(world) !== only) continue
    const [wrong] = walked(family, world, SEARCHED_CASES).complaints
    if (wrong !== undefined) return { world: nameOf(world), wrong }
  }
  return undefined
}

interface World {
  readonly script: readonly string[]
  /** Lines that are over when the kinds are listed. */
  readonly lists: number
  /** Empty for none. */
  readonly rule: string
}

function nameOf({ script, lists, rule }: World): string {
  if (rule !== '') return `${rule}: ${script.join('; ')}`
  return lists === 0 ? script.join('; ') : `${script.join('; ')} | ${lists}`
}

function* worldsOf(family: Family): Generator<World> {
  switch (family) {
    case 'orders':
    case 'faults':
      for (const script of shapes()) yield { script, lists: 0, rule: '' }
      return
    case 'lists':
      for (const [script, lists] of listedShapes()) yield { script, lists, rule: '' }
      return
    case 'loops':
    case 'faulty loops':
      for (const script of loopShapes()) yield { script, lists: 0, rule: '' }
      return
    case 'rules':
      for (const world of RULE_WORLDS) yield { ...world, lists: 0 }
  }
}

function walked(family: Family, { script, lists, rule }: World, maxCases: number): Findings {
  switch (family) {
    case 'orders':
    case 'lists':
      return allOrders(script, lists)
    case 'faults':
      return allFaults(script)
    case 'loops':
      return allLoops(script, { hasFaults: false, maxCases })
    case 'faulty loops':
      return allLoops(script, { hasFaults: true, maxCases })
    case 'rules':
      return allWays({ rule, script }, maxCases)
  }
}

if (import.meta.main) {
  const options = { ways: { type: 'string', default: '20000' } } as const
  const maxCases = Number(parseArgs({ options }).values.ways)
  let total = 0
  for (const family of FAMILIES) {
    const { worlds, cases, cut, complaints } = walk(family, { maxCases, maxComplaints: 20 })
    total += cases
    console.log(`${family}: ${worlds} worlds, ${cases} ways, ${cut} worlds have more`)
    for (const complaint of complaints) console.log(`  ${complaint}`)
    if (complaints.length > 0) process.exitCode = 1
  }
  console.log(`${total} ways`)
}
