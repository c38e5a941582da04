/**
 * One owner with its dependents, all ConfigMaps of one namespace on a real server.
 *
 * What must stay true: a family is whole before anything is measured.
 */
import type { ControlPlane } from '../../testing/cluster/control-plane.ts'
import { deleteOptions, type PolicyName, referenceTo } from './policy.ts'

export interface Member {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
}

export interface Family {
  readonly owner: Member
  readonly dependents: readonly Member[]
}

export const NAMESPACE = 'bench'
export const CONFIG_MAPS: string = `/api/v1/namespaces/${NAMESPACE}/configmaps`
/** Concurrent requests; more only wait in the server. */
const IN_FLIGHT = 32

export async function createNamespace(plane: ControlPlane): Promise<void> {
  await create(plane, '/api/v1/namespaces', { metadata: { name: NAMESPACE } })
}

/** `name` is the owner's, and begins those of its dependents. */
export async function createFamily(
  plane: ControlPlane,
  name: string,
  size: number,
  policy: PolicyName = 'background',
): Promise<Family> {
  const owner = await create(plane, CONFIG_MAPS, configMap(name))
  const dependents: Member[] = []
  let next = 0
  const some = async (): Promise<void> => {
    while (next < size) {
      const body = configMap(`${name}-${next++}`, [referenceTo(owner, policy)])
      dependents.push(await create(plane, CONFIG_MAPS, body))
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, some))
  return { owner, dependents }
}

/** Resolves with the server's answer. */
export async function deleteMember(
  plane: ControlPlane,
  { name }: Member,
  policy: PolicyName = 'background',
): Promise<void> {
  const options = deleteOptions(policy)
  const { status, body } = await plane.request('DELETE', `${CONFIG_MAPS}/${name}`, options)
  if (status !== 200) throw new Error(`DELETE of ${name}: ${status} ${JSON.stringify(body)}`)
}

/** Deletes all that are left, so that the next contender finds the same state as this one. */
export async function deleteAll(plane: ControlPlane): Promise<void> {
  const { status, body } = await plane.request('DELETE', CONFIG_MAPS)
  if (status !== 200) throw new Error(`DELETE of all: ${status} ${JSON.stringify(body)}`)
}

function configMap(name: string, ownerReferences: readonly object[] = []): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ownerReferences } }
}

async function create(plane: ControlPlane, path: string, body: object): Promise<Member> {
  const answer = await plane.request<{ metadata: Member }>('POST', path, body)
  if (answer.status !== 201) {
    throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  }
  const { name, uid, resourceVersion } = answer.body.metadata
  return { name, uid, resourceVersion }
}
