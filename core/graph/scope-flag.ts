/**
 * The flag by which an order is about one cluster alone, for a hint: what ends an order has to be
 * about the same.
 *
 * What must stay true: a command that is printed with it ends what it says (C7), and nothing in
 * another cluster. So it has the id: a cluster that was made anew has the name of its predecessor,
 * and a text that is recorded outlives a name.
 */
import type { ClusterId } from '../model/object.ts'
import { shellWord } from '../model/text.ts'

/** Begins with a space; empty for all clusters. */
export function scopeFlag(cluster: ClusterId): string {
  return cluster === '' ? '' : ` --cluster ${shellWord(cluster)}`
}
