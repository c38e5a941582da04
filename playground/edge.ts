/**
 * An edge between the clusters of the playground: a ConfigMap in the second one that names an owner
 * in the first one, and the rule by which it follows, in dry run until its user enforces it.
 *
 * What must stay true: it is made once, so what its user deletes stays deleted; the rule is about
 * its namespace alone.
 */
import type { ApiServer } from '../adapters/memory/api-server.ts'
import { OWNER_ANNOTATION } from '../core/model/rule/elsewhere.ts'
import type { Rule } from '../core/model/rule/rule.ts'
import { Client } from './client.ts'
import { PLAYGROUND_RULES } from './rules.ts'

export const EDGE = {
  rule: 'follows-north',
  namespace: 'hub',
  owner: 'region',
  dependent: 'region-settings',
} as const

const USER = 'system:serviceaccount:hub:hub-controller'
const NAMESPACES = '/api/v1/namespaces'
const CONFIG_MAPS = `${NAMESPACES}/${EDGE.namespace}/configmaps`
const KIND = { group: '', kind: 'ConfigMap' }
const HOUR_MS = 3_600_000

export async function makeEdge(
  [owners, dependents]: readonly ApiServer[],
  signal: AbortSignal,
): Promise<void> {
  if (owners === undefined || dependents === undefined) return
  const [first, second] = [owners, dependents].map((api) => new Client(api, signal, USER))
  for (const client of [first, second]) {
    await client?.create(NAMESPACES, { metadata: { name: EDGE.namespace } })
  }
  const uid = await first?.create(CONFIG_MAPS, { metadata: { name: EDGE.owner } })
  const place = `${KIND.group}/${KIND.kind}/${EDGE.namespace}/${EDGE.owner}`
  const annotations = { [OWNER_ANNOTATION]: `${identityOf(owners)}/${place}/${uid}` }
  await second?.create(CONFIG_MAPS, { metadata: { name: EDGE.dependent, annotations } })
}

/** All rules of the playground, over these clusters. */
export function rulesOver([owners, dependents]: readonly ApiServer[]): readonly Rule[] {
  const [model] = PLAYGROUND_RULES
  if (owners === undefined || dependents === undefined || model === undefined) {
    return PLAYGROUND_RULES
  }
  const shared = { kinds: [KIND], namespaces: [EDGE.namespace] }
  const rule: Rule = {
    ...model,
    name: EDGE.rule,
    match: { ...model.match, ...shared, labels: [] },
    cases: [{ fields: [], since: { type: 'created' }, after: { type: 'fixed', ms: 0 } }],
    forMs: HOUR_MS,
    elsewhere: {
      ...{ cluster: identityOf(owners), ...shared },
      exports: [{ ...shared, to: [identityOf(dependents)] }],
    },
  }
  return [...PLAYGROUND_RULES, rule]
}

function identityOf(api: ApiServer): string {
  return api.object('', 'namespaces', '', 'kube-system')?.metadata.uid ?? ''
}
