/**
 * Where what is drawn of a tree lies: the root to the left, each level to the right of the one
 * above.
 *
 * What must stay true: no two boxes overlap, whatever the tree is.
 */
import { hierarchy, tree as layOut } from 'd3-hierarchy'
import type { Drawn, Folded } from './folded.ts'
import type { Box } from './viewport.ts'

export const ROW_PX = 46
export const LEVEL_PX = 280
export const BOX = { width: 236, height: 38 } as const

export interface Placed {
  /** The middle of its left side. */
  readonly x: number
  readonly y: number
  readonly item: Drawn | Folded
  /** What it is below of; null for the root. */
  readonly above: { readonly x: number; readonly y: number } | null
}

export interface Layout {
  readonly placed: readonly Placed[]
  readonly box: Box
}

export function isFold(item: Drawn | Folded): item is Folded {
  return 'count' in item
}

export function layoutOf(root: Drawn): Layout {
  const below = (item: Drawn | Folded): readonly (Drawn | Folded)[] => {
    return isFold(item) ? [] : [...item.children, ...item.folds]
  }
  const laid = layOut<Drawn | Folded>().nodeSize([ROW_PX, LEVEL_PX])(hierarchy(root, below))
  // d3 lays it out from top to bottom; here it is from left to right.
  const placed = laid.descendants().map(({ x, y, data, parent }): Placed => {
    const above = parent && { x: parent.y, y: parent.x }
    return { x: y, y: x, item: data, above }
  })
  const tops = placed.map(({ y }) => y)
  const [top, bottom] = [Math.min(...tops), Math.max(...tops)]
  return {
    placed,
    box: {
      ...{ x: 0, y: top - BOX.height / 2 },
      width: laid.height * LEVEL_PX + BOX.width,
      height: bottom - top + BOX.height,
    },
  }
}
