/**
 * Cycles of files: those that import each other, directly or by way of others, so that none of them
 * can be read or moved alone.
 *
 * What must stay true: an import of a type counts like any other. Files that are in no cycle are in
 * no answer.
 */

/**
 * Files and what each imports → each cycle once, its files in order of their names (Tarjan's
 * strongly connected components).
 */
export function cyclesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = []
  const low = new Map<string, number>()
  const path: string[] = []
  const visit = (file: string): number => {
    const index = low.size
    // Until its component is complete: the least index that is reached from it. Afterwards:
    // infinite.
    low.set(file, index)
    path.push(file)
    const targets = imports.get(file) ?? []
    let least = index
    for (const target of targets) least = Math.min(least, low.get(target) ?? visit(target))
    low.set(file, least)
    if (least < index) return least
    const component = path.splice(path.indexOf(file))
    for (const each of component) low.set(each, Number.POSITIVE_INFINITY)
    if (component.length > 1 || targets.includes(file)) cycles.push(component.sort())
    return Number.POSITIVE_INFINITY
  }
  for (const file of imports.keys()) if (!low.has(file)) visit(file)
  return cycles
}
