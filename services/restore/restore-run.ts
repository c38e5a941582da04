/**
 * Carries a plan of a restore out: one object after the other, owners first, each with the uids that its owners have by now.
 *
 * What must stay true: an object is made only when every owner that it is to name is there; it is marked with the uid that it had, so that the same restore, run again
 * after a failure, takes it for done. Nothing is changed or deleted.
 *
 * Not here: what is made and in which order (restore-plan.ts).
 */
import type { OwnerReference, Uid } from '../../core/model/object.ts'
import type { NamedResource } from '../../ports/cluster.ts'
import type { Restorer } from '../../ports/restorer.ts'
import type { JsonObject } from '../../runtime/exact-json.ts'
import type { ArchivedObject } from './archive-reader.ts'
import { freshObject } from './fresh-object.ts'
import type { Step } from './restore-plan.ts'
import { isRestored, markOf } from './restored-mark.ts'
import { look } from './survey.ts'

export interface RestoreParts {
  readonly restorer: Restorer
  /** Of these objects, by uid, as far as the archive has them. */
  readonly bodies: (of: readonly ArchivedObject[]) => Promise<ReadonlyMap<Uid, JsonObject>>
  /** The server checks all, and keeps nothing. */
  readonly dryRun: boolean
}

export interface Restored {
  readonly object: ArchivedObject
  /** Undefined: it was not made, for this reason. */
  readonly uid: Uid | undefined
  readonly reason: string
}

export async function* runRestore(
  steps: readonly Step[],
  parts: RestoreParts,
  signal: AbortSignal,
): AsyncIterable<Restored> {
  const uids = new Map<Uid, Uid>()
  for (let from = 0; from < steps.length; from += BODIES_AT_ONCE) {
    const some = steps.slice(from, from + BODIES_AT_ONCE)
    const bodies = await parts.bodies(
      some.flatMap((step) => (step.type === 'create' ? [step.object] : [])),
    )
    for (const step of some) {
      signal.throwIfAborted()
      if (step.type === 'keep') uids.set(step.object.uid, step.uid)
      if (step.type !== 'create') continue
      const { object } = step
      const references = referencesOf(step, uids)
      const made =
        typeof references === 'string'
          ? { object, uid: undefined, reason: references }
          : await make(object, references, bodies.get(object.uid), parts, signal)
      if (made.uid !== undefined) uids.set(object.uid, made.uid)
      yield made
    }
  }
}

/** Held in memory: of 1.5 MB each, were they as large as they may be, 750 MB. */
const BODIES_AT_ONCE = 500

type Create = Extract<Step, { readonly type: 'create' }>

/** Or which owner is missing. */
function referencesOf(
  { references }: Create,
  uids: ReadonlyMap<Uid, Uid>,
): readonly OwnerReference[] | string {
  const named: OwnerReference[] = []
  for (const { reference, becomes, uid } of references) {
    if (becomes === 'dropped') continue
    const now = becomes === 'made' ? uids.get(uid) : uid
    if (now === undefined) return `its owner ${reference.kind}/${reference.name} was not restored`
    named.push({ ...reference, uid: now })
  }
  return named
}

async function make(
  object: ArchivedObject,
  references: readonly OwnerReference[],
  body: JsonObject | undefined,
  { restorer, dryRun }: RestoreParts,
  signal: AbortSignal,
): Promise<Restored> {
  const failed = (reason: string): Restored => ({ object, uid: undefined, reason })
  if (body === undefined) return failed('its body is not in the archive any more')
  const place = placeOf(object)
  const text = JSON.stringify(freshObject(body, references, markOf(object)))
  const answer = await restorer.create(place, text, dryRun, signal)
  switch (answer.type) {
    case 'Created':
      return { object, uid: answer.uid, reason: '' }
    case 'Refused':
      return failed(answer.reason)
    case 'Exists':
    case 'Unknown': {
      // It may be ours, of this try or of an earlier one.
      const found = await look(restorer, place, signal)
      const isOurs = found.type === 'Found' && isRestored(found.object, object.uid)
      return isOurs ? { object, uid: found.object.uid, reason: '' } : failed(answer.reason)
    }
  }
}

function placeOf({
  group,
  kind,
  version,
  resource,
  namespace,
  name,
}: ArchivedObject): NamedResource {
  const scope = namespace === '' ? 'Cluster' : 'Namespaced'
  return { group, kind, version, resource, scope, namespace, name }
}
