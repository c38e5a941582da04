/**
 * Small worlds, exhaustively: at most four objects and three owners, in every order of what may happen. `npm run sim:small` walks more of them
 * than the tests do.
 *
 * What must stay true: a family ends at its first wrong world only if it is asked to; the number of ways is counted, never estimated.
 *
 * Not here: chance, clusters, processes (world.ts).
 */
import { parseArgs } from 'node:util'
import { allFaults } from './small-fault.ts'
import { allLoops } from './small-loop.ts'
import { allOrders } from './small-order.ts'
import { listedShapes, loopShapes, shapes } from './small-shape.ts'
import type { Findings } from './small-verdict.ts'

export type Family = 'orders' | 'lists' | 'faults' | 'loops' | 'faulty loops'

export const FAMILIES: readonly Family[] = ['orders', 'lists', 'faults', 'loops', 'faulty loops']

export interface WalkOptions {
  /** Of ways through one closed loop. */
  readonly maxCases: number
  /** Complaints after which a family is left. */
  readonly maxComplaints: number
}

export interface Walk extends Findings {
  readonly worlds: number
}

export function walk(family: Family, { maxCases, maxComplaints }: WalkOptions): Walk {
  let worlds = 0
  let cases = 0
  let folded = 0
  let cut = 0
  const complaints: string[] = []
  for (const found of findings(family, maxCases)) {
    worlds += 1
    cases += found.cases
    folded += found.folded
    cut += found.cut
    complaints.push(...found.complaints)
    if (complaints.length >= maxComplaints) break
  }
  return { worlds, cases, folded, cut, complaints }
}

function* findings(family: Family, maxCases: number): Generator<Findings> {
  switch (family) {
    case 'orders':
      for (const script of shapes()) yield allOrders(script)
      return
    case 'lists':
      for (const [script, lists] of listedShapes()) yield allOrders(script, lists)
      return
    case 'faults':
      for (const script of shapes()) yield allFaults(script)
      return
    case 'loops':
      for (const script of loopShapes()) yield allLoops(script, { hasFaults: false, maxCases })
      return
    case 'faulty loops':
      for (const script of loopShapes()) yield allLoops(script, { hasFaults: true, maxCases })
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
