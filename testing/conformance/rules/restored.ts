/**
 * Makes an object old: takes it out of etcd and puts it back with another uid and another time of
 * creation, as after a restore of a backup. A server sets that time itself.
 *
 * What must stay true: the server stores JSON (STORED_AS_JSON), so what is put there is what it
 * wrote but for these two; it watches etcd and sees a deletion and a creation.
 */
import { randomUUID } from 'node:crypto'
import type { ControlPlane } from '../../cluster/control-plane.ts'
import type { Made } from '../../process/objects.ts'

export const STORED_AS_JSON = '--storage-media-type=application/json'

interface Stored {
  readonly metadata: object
}

/** Of each time in turn, the last of which stays. */
export async function putBack(
  plane: ControlPlane,
  made: Made,
  ...createdMs: readonly number[]
): Promise<Made> {
  const { kind, namespace, name } = made
  const folder = kind.namespaced ? `${kind.resource}/${namespace}` : kind.resource
  const key = `/registry/${folder}/${name}`
  const text = await plane.etcd.get(key)
  if (text === undefined) throw new Error(`${key} is not in etcd`)
  const stored = JSON.parse(text) as Stored
  let uid = made.uid
  for (const ms of createdMs) {
    uid = randomUUID()
    const creationTimestamp = new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
    await plane.etcd.remove(key)
    const metadata = { ...stored.metadata, uid, creationTimestamp }
    await plane.etcd.put(key, JSON.stringify({ ...stored, metadata }))
  }
  return { ...made, uid }
}
