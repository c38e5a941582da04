/**
 * The ceiling: guarded calls, sent as fast as one Node process can, without any decision. A process
 * of its own, so that its CPU time is its own, too. With `recorded` as its second argument, it also
 * writes the records that any such collector has to write (recording.ts).
 *
 * What must stay true: the calls are those that the reaper makes: the same adapter, the same
 * guards, as many at once.
 *
 * Reads lines of JSON on standard input, each a family and a policy; deals with one after the other
 * and writes a line when it is done.
 */
import { createInterface } from 'node:readline'
import { openCluster } from '../adapters/kubernetes/cluster.ts'
import { openUndiciExchange } from '../adapters/kubernetes/connection/exchange.ts'
import { loadContexts } from '../adapters/kubernetes/connection/kubeconfig.ts'
import type { Target } from '../core/model/command.ts'
import { FINALIZER_FOREGROUND, FINALIZER_ORPHAN } from '../core/model/object.ts'
import type { ReapAnswer, Resource } from '../ports/cluster.ts'
import { DEFAULT_REAPER_CONFIG } from '../services/reaper/config.ts'
import type { Family, Member } from './rig/family.ts'
import { NAMESPACE } from './rig/family.ts'
import type { PolicyName } from './rig/policy.ts'
import { referenceTo } from './rig/policy.ts'
import { Recording } from './rig/recording.ts'

const [, , kubeconfig, manner] = process.argv
const [context] = loadContexts({ kubeconfig, contexts: [] })
if (context === undefined) throw new Error('the kubeconfig has no context')
const cluster = openCluster({ name: context.name, exchange: openUndiciExchange(context) })
const never = new AbortController().signal
const CONFIG_MAP: Resource = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  resource: 'configmaps',
  scope: 'Namespaced',
}
await cluster.identify(never)
const recording = manner === 'recorded' ? await Recording.open() : undefined
await recording?.watch(cluster, CONFIG_MAP)
process.stdout.write('ready\n')

interface Task extends Family {
  readonly policy: PolicyName
}

for await (const line of createInterface({ input: process.stdin })) {
  const { owner, dependents, policy } = JSON.parse(line) as Task
  const deal = policy === 'orphan' ? orphanFrom(owner) : deleteOne
  let next = 0
  const some = async (): Promise<void> => {
    while (next < dependents.length) {
      const member = dependents[next++] as Member
      await deal(member)
      recording?.result(member.uid)
    }
  }
  await recording?.commands(dependents.map(({ uid }) => uid))
  await Promise.all(Array.from({ length: DEFAULT_REAPER_CONFIG.maxConcurrency }, some))
  if (policy === 'foreground') await finish(owner, FINALIZER_FOREGROUND)
  if (policy === 'orphan') await finish(owner, FINALIZER_ORPHAN)
  process.stdout.write('done\n')
}
await recording?.[Symbol.asyncDispose]()
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

function orphanFrom(owner: Member): (dependent: Member) => Promise<void> {
  const reference = referenceTo(owner, 'orphan')
  return async (dependent) => {
    await removeEntry(dependent, '/metadata/ownerReferences/0', reference)
  }
}

async function finish(owner: Member, finalizer: string): Promise<void> {
  await removeEntry(owner, '/metadata/finalizers/0', finalizer)
}

async function removeEntry(member: Member, path: string, value: unknown): Promise<void> {
  const operations = [
    { op: 'test', path: '/metadata/uid', value: member.uid },
    { op: 'test', path, value },
    { op: 'remove', path },
  ] as const
  const answer: ReapAnswer = await cluster.patch(targetOf(member), operations, false, never)
  // An owner's last finalizer takes it along.
  if (answer.type !== 'Changed' && answer.type !== 'Removed') {
    throw new Error(`${member.name}: ${JSON.stringify(answer)}`)
  }
}

function targetOf({ name, uid, resourceVersion }: Member): Target {
  return {
    ...CONFIG_MAP,
    namespace: NAMESPACE,
    name,
    uid,
    resourceVersion,
    aggregated: false,
  }
}
