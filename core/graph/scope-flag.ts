/**
 * The flag by which an order is about one cluster alone, for a hint: what ends an order has to be about the same.
 *
 * What must stay true: a command that is printed with it ends what it says (C7), and nothing in another cluster.
 */
import type { ClusterId } from '../model/object.ts'
import type { StateReader } from './graph.ts'
import { clusterOf } from './graph.ts'

/** Begins with a space; empty for all clusters. */
export function scopeFlag(graph: StateReader, cluster: ClusterId): string {
  return cluster === '' ? '' : ` --cluster ${clusterOf(graph, cluster)?.name ?? cluster}`
}
