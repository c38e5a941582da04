/**
 * Port: a cluster as a person who restores uses it, with that person's rights: GET, create, and
 * patch what an earlier restore created.
 *
 * Guarantees: `create` makes a new object or none; an object with the answer `Unknown` may have
 * been created. A patch that tests uid and resourceVersion changes only the version that was read.
 * Assumes: the caller reads again before it believes that nothing was made or changed.
 *
 * Not here: anything that deletes.
 */
import type { Uid } from '../core/model/object.ts'
import type { Cluster, NamedResource, UnknownAnswer } from './cluster.ts'

/** The mark of the first version (record/restored-mark.ts has today's): the uid is its value. */
export const FORMER_RESTORED_FROM = 'kinfold.dev/restored-from'

export type CreateAnswer =
  | { readonly type: 'Created'; readonly uid: Uid; readonly code: number }
  /** An object of that name is there. */
  | { readonly type: 'Exists'; readonly code: number; readonly reason: string }
  /** Validation, a webhook, a right that is missing, a namespace that is not there. */
  | { readonly type: 'Refused'; readonly code: number; readonly reason: string }
  | UnknownAnswer

/** `get` returns only these of the annotations. */
export interface Restorer
  extends Pick<Cluster, 'name' | 'identify' | 'discover' | 'get' | 'patch'>,
    AsyncDisposable {
  /** `body` is the object as JSON. With `dryRun` the server checks all and keeps nothing. */
  create(
    place: NamedResource,
    body: string,
    dryRun: boolean,
    signal: AbortSignal,
  ): Promise<CreateAnswer>
}
