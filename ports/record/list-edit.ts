/**
 * What changed in a long list: which stretches of the former one are still there, and what was
 * added, so that a change of one entry costs one entry.
 *
 * What must stay true: `edited(former, editsOf(list, …))` is the list, in its order, whatever it
 * is. Entries are compared by keys alone; a caller whose keys may collide compares a hash of the
 * whole.
 *
 * Not here: what the lists are of (services/watcher/publish/long-list.ts,
 * services/graph/fold/bytes/long-node.ts).
 */

/** `count` entries of the former list, from the index `from` on, then those that were added. */
export interface ListEdit<T> {
  readonly from: number
  readonly count: number
  readonly added: readonly T[]
}

/** `keys` are those of the list, `former` those of the list before it. */
export function editsOf<T, K>(
  list: readonly T[],
  keys: ArrayLike<K>,
  former: ArrayLike<K>,
): ListEdit<T>[] {
  const edits: { from: number; count: number; added: T[] }[] = []
  function keep(from: number, count: number): void {
    const open = edits.at(-1)
    const isBehind = open !== undefined && open.added.length === 0
    if (isBehind && from === open.from + open.count) open.count += count
    else if (count > 0) edits.push({ from, count, added: [] })
  }
  function add(entry: T): void {
    if (edits.length === 0) edits.push({ from: 0, count: 0, added: [] })
    edits.at(-1)!.added.push(entry)
  }
  // A change at one place is found by what is the same on both sides of it, however often entries
  // repeat each other.
  const begin = sameFromBegin(keys, former)
  const end = sameFromEnd(keys, former, begin)
  keep(0, begin)
  const places = placesOf(former, begin, former.length - end)
  // Behind the last entry that was found in order, and behind the last one that was found.
  let [ahead, next] = [begin, begin]
  for (let index = begin; index < keys.length - end; index++) {
    const key = keys[index]!
    const near = former[ahead] === key ? ahead : former[next] === key ? next : undefined
    const from = near ?? placeOf(places, key, ahead)
    if (from === undefined) {
      add(list[index]!)
      continue
    }
    keep(from, 1)
    next = from + 1
    if (from >= ahead) ahead = next
  }
  keep(former.length - end, end)
  return edits
}

function sameFromBegin<K>(a: ArrayLike<K>, b: ArrayLike<K>): number {
  const most = Math.min(a.length, b.length)
  let same = 0
  while (same < most && a[same] === b[same]) same += 1
  return same
}

function sameFromEnd<K>(a: ArrayLike<K>, b: ArrayLike<K>, begin: number): number {
  const most = Math.min(a.length, b.length) - begin
  let same = 0
  while (same < most && a[a.length - 1 - same] === b[b.length - 1 - same]) same += 1
  return same
}

function placesOf<K>(former: ArrayLike<K>, begin: number, end: number): Map<K, number[]> {
  const places = new Map<K, number[]>()
  for (let index = begin; index < end; index++) {
    const known = places.get(former[index]!)
    if (known === undefined) places.set(former[index]!, [index])
    else known.push(index)
  }
  return places
}

/** The first one from there on, else the first of all. */
function placeOf<K>(places: Map<K, number[]>, key: K, from: number): number | undefined {
  const all = places.get(key)
  if (all === undefined) return undefined
  let [low, high] = [0, all.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (all[middle]! < from) low = middle + 1
    else high = middle
  }
  return all[low] ?? all[0]
}

/** Undefined where the edits are of another list. */
export function edited<T>(
  former: readonly T[],
  edits: readonly ListEdit<T>[],
): readonly T[] | undefined {
  const list: T[] = []
  for (const { from, count, added } of edits) {
    if (from < 0 || count < 0 || from + count > former.length) return undefined
    for (let index = from; index < from + count; index++) list.push(former[index]!)
    for (const entry of added) list.push(entry)
  }
  return list
}
