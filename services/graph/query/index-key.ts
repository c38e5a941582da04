/** Parts of the keys of an index. What must stay true: as in core/graph/key.ts, printable ASCII without a bare separator. */

export function part(text: string): string {
  return /^[\w.~-]*$/.test(text) ? text : encodeURIComponent(text.toWellFormed())
}
