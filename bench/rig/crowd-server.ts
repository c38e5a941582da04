/**
 * A cluster of the playground's with one owner of very many, or many owners of as many each, in a
 * process of its own. For fanout.ts and first-list.ts.
 *
 * Prints the path of its kubeconfig, deletes the first owner at the first line of standard input,
 * and from then on prints how many of its dependents are left. It ends with its standard input.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { ApiObject } from '../../adapters/memory/api/object.ts'
import type { ApiServer } from '../../adapters/memory/api-server.ts'
import { startPlayground } from '../../playground/playground.ts'
import { deleteOptions, type PolicyName, referenceTo } from './policy.ts'

const [, , dependents = '0', everyMs = '0', policyName, families = '1'] = process.argv
const policy = policyName as PolicyName
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const directory = mkdtempSync(join(tmpdir(), 'kinfold-crowd-'))
const ended = once(process.stdin, 'end')

const playground = await startPlayground({ directory, clusters: ['crowd'], workload: false })
const { api } = playground.servers[0] as { readonly api: ApiServer }
const owners: Answered[] = []
for (let index = 0; index < Number(families); index++) {
  const metadata = { name: index === 0 ? 'owner' : `owner-${index}` }
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
  owners.push(await ask(api, 'POST', CONFIG_MAPS, owner))
}
for (let index = 0; index < Number(dependents); index++) {
  const owner = owners[index % owners.length] as Answered
  const reference = referenceTo(owner.metadata, policy)
  await ask(api, 'POST', CONFIG_MAPS, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: `dependent-${index}`, ownerReferences: [reference] },
  })
}
// The owner's own departure counts as well.
let left = Number(dependents) + 1
api.observe(({ before, after }) => {
  const isOrphaned = isOwned(before) && !isOwned(after)
  if (after === null || isOrphaned) left -= 1
})
say({ kubeconfig: playground.kubeconfig })
const isAsked = await Promise.race([once(process.stdin, 'data'), ended.then(() => undefined)])
if (isAsked !== undefined) {
  await ask(api, 'DELETE', `${CONFIG_MAPS}/owner`, deleteOptions(policy))
  while (left > 0) {
    say({ left })
    await delay(Number(everyMs))
  }
  say({ left })
  await ended
}
await playground[Symbol.asyncDispose]()
rmSync(directory, { recursive: true })
process.exit()

function isOwned(object: ApiObject | null): boolean {
  return (object?.metadata.ownerReferences ?? []).length > 0
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}

interface Answered {
  readonly metadata: { readonly name: string; readonly uid: string }
}

async function ask(
  server: ApiServer,
  method: string,
  path: string,
  body: object,
): Promise<Answered> {
  const headers = { 'content-type': 'application/json' }
  const request = { method, path, headers, body: JSON.stringify(body) }
  const { status, body: chunks } = await server.handle(request, AbortSignal.abort())
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(Buffer.from(chunk))
  const text = Buffer.concat(parts).toString()
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
  const { metadata } = JSON.parse(text) as Answered
  return { metadata: { name: metadata?.name, uid: metadata?.uid } }
}
