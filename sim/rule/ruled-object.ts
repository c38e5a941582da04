/**
 * An object of a simulated server as the oracle of rules sees it.
 *
 * What must stay true: it is read as the server has it, and shares no code with the watcher.
 *
 * Not here: when it is due (testing/model/rule-oracle.ts).
 */
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import { groupIn } from '../../testing/model/oracle.ts'
import type { RuledObject } from '../../testing/model/rule-oracle.ts'

export function ruledObject(object: ApiObject): RuledObject {
  const { namespace = '', creationTimestamp, labels = {}, annotations = {} } = object.metadata
  const { apiVersion, kind } = object
  return {
    ...{ group: groupIn(apiVersion), kind, namespace, labels, annotations },
    createdMs: Date.parse(creationTimestamp),
    ...deletionIn(object),
    ownerKinds: (object.metadata.ownerReferences ?? []).map(
      ({ apiVersion, kind }) => `${kind}.${groupIn(apiVersion)}`,
    ),
    field: (path) => fieldIn(object, path),
  }
}

function deletionIn({ metadata }: ApiObject) {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers = [] } = metadata
  const graceSeconds = deletionGracePeriodSeconds ?? null
  const asked = Date.parse(deletionTimestamp ?? '') - (graceSeconds ?? 0) * 1_000
  const deletedMs = Number.isNaN(asked) ? null : asked
  return { deletedMs, graceSeconds, hasFinalizers: finalizers.length > 0 }
}

/** As a rule writes it: `status.conditions[type=Complete].lastTransitionTime`. */
function fieldIn(object: ApiObject, path: string): string | undefined {
  let value: unknown = object
  for (const [, name = '', key, wanted] of path.matchAll(/([\w-]+)(?:\[(\w+)=([^\]]*)\])?/g)) {
    value = (value as Record<string, unknown> | undefined)?.[name]
    if (key === undefined) continue
    const all = Array.isArray(value) ? (value as Record<string, unknown>[]) : []
    value = all.find((each) => each[key] === wanted)
  }
  return value === undefined || value === null ? undefined : String(value)
}
