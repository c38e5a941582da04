/**
 * The ceiling: guarded DELETEs, sent as fast as one process of ours can, with no thought behind them. A process of its own, so that its work is
 * its own too.
 *
 * What must stay true: the calls are those that the reaper makes: the same adapter, the same preconditions, as many at once.
 *
 * Reads lines of JSON on standard input, each a list of members; deletes one list after the other and writes a line when it is done.
 */
import { createInterface } from 'node:readline'
import { openCluster } from '../adapters/kubernetes/cluster.ts'
import { openUndiciExchange } from '../adapters/kubernetes/exchange.ts'
import { loadContexts } from '../adapters/kubernetes/kubeconfig.ts'
import type { Target } from '../core/command.ts'
import { DEFAULT_REAPER_CONFIG } from '../services/reaper/config.ts'
import type { Member } from './family.ts'
import { NAMESPACE } from './family.ts'

const [, , kubeconfig] = process.argv
const [context] = loadContexts({ kubeconfig, contexts: [] })
if (context === undefined) throw new Error('the kubeconfig has no context')
const cluster = openCluster({ name: context.name, exchange: openUndiciExchange(context) })
const never = new AbortController().signal
await cluster.identify(never)
process.stdout.write('ready\n')

for await (const line of createInterface({ input: process.stdin })) {
  const members = JSON.parse(line) as readonly Member[]
  let next = 0
  const some = async (): Promise<void> => {
    while (next < members.length) await deleteOne(members[next++] as Member)
  }
  await Promise.all(Array.from({ length: DEFAULT_REAPER_CONFIG.maxConcurrency }, some))
  process.stdout.write('done\n')
}
process.exit()

async function deleteOne(member: Member): Promise<void> {
  const { uid, resourceVersion } = member
  const options = {
    uid,
    resourceVersion,
    propagationPolicy: 'Background' as const,
    dryRun: false,
  }
  const answer = await cluster.delete(targetOf(member), options, never)
  if (answer.type !== 'Removed') throw new Error(`${member.name}: ${JSON.stringify(answer)}`)
}

function targetOf({ name, uid, resourceVersion }: Member): Target {
  return {
    group: '',
    version: 'v1',
    kind: 'ConfigMap',
    resource: 'configmaps',
    namespace: NAMESPACE,
    name,
    uid,
    resourceVersion,
    aggregated: false,
  }
}
