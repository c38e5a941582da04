/** A comparison as it is answered: clusters by name and id, as in every answer. What is stored of it keeps the names of its time (shadow-report.ts). */
import type { ClusterRef } from '../api/document.ts'
import { clusterRefs } from '../query/view/cluster-label.ts'
import type { ShadowCase, ShadowCount, ShadowReport } from './shadow-report.ts'

type Named<T> = Omit<T, 'cluster' | 'clusterName'> & { readonly cluster: ClusterRef }

export interface ShadowAnswer extends Omit<ShadowReport, 'clusters' | 'cases'> {
  readonly clusters: readonly Named<ShadowCount>[]
  readonly cases: readonly Named<ShadowCase>[]
}

export function shadowAnswer(report: ShadowReport): ShadowAnswer {
  const { clusters, cases, ...rest } = report
  const all = [...cases, ...clusters]
  const refOf = clusterRefs(all.map(({ cluster: id, clusterName: name }) => ({ id, name })))
  return {
    ...rest,
    clusters: clusters.map(({ cluster, clusterName: _, ...each }) => ({
      cluster: refOf(cluster),
      ...each,
    })),
    cases: cases.map(({ cluster, clusterName: _, ...each }) => ({
      cluster: refOf(cluster),
      ...each,
    })),
  }
}
