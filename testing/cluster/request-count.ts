/**
 * How many requests of which sort an API server has served, read from its own metrics: the measure
 * by which a collector's load on a cluster is judged.
 */

const METRIC = 'apiserver_request_total'
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g

/**
 * Requests by `VERB resource`, or `VERB resource/subresource`; verbs are the metric's (LIST, WATCH,
 * DELETE, APPLY…). A watch counts when it ends. Paths that are no resource count as `GET` alone.
 */
export function requestCountsOf(metrics: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const line of metrics.split('\n')) {
    if (!line.startsWith(`${METRIC}{`)) continue
    const end = line.lastIndexOf('}')
    const labels = new Map([...line.slice(0, end).matchAll(LABEL)].map(([, k, v]) => [k, v ?? '']))
    const resource = [labels.get('resource'), labels.get('subresource')].filter(Boolean).join('/')
    const key = `${labels.get('verb') ?? ''} ${resource}`.trimEnd()
    counts.set(key, (counts.get(key) ?? 0) + Number(line.slice(end + 1)))
  }
  return counts
}
