/**
 * The actions in a small world, as lines of text, and the events that they make the watches
 * publish.
 *
 * - `+ OBJECT` creates and `= OBJECT` replaces references and finalizers, in the notation of
 *   testing/model/notation.ts.
 * - `- UID POLICY` deletes, `! UID` removes all finalizers, `~ UID` writes a status, `? KIND`
 *   breaks the kind's watch, which lists again.
 *
 * What must stay true: a script is plain text, so a world that fails can be read, and replayed
 * alone.
 */
import type { Event } from '../../core/model/event.ts'
import { MONITORED, ModelCluster } from '../../testing/model/model-cluster.ts'
import { object } from '../../testing/model/notation.ts'

export function act(cluster: ModelCluster, line: string): void {
  const text = line.slice(2)
  const [uid = '', policy = 'Background'] = text.split(' ')
  switch (line[0]) {
    case '+':
      return cluster.create(object(text, ''))
    case '=': {
      const { uid: of, ownerReferences, finalizers } = object(text, '')
      return cluster.update(of, { ownerReferences, finalizers })
    }
    case '-':
      return void cluster.delete(uid, policy)
    case '!':
      return cluster.update(uid, { finalizers: [] })
    case '~':
      return cluster.touch(uid)
    case '?':
      return cluster.relist(uid, 0, false)
    default:
      throw new Error(`not a line of a script: ${line}`)
  }
}

/**
 * A cluster whose kinds, all but some, have been listed once, empty. The events of that are removed
 * from its streams, and returned.
 */
export function listedCluster(except: readonly string[] = []): {
  readonly cluster: ModelCluster
  readonly told: readonly Event[]
} {
  const cluster = new ModelCluster()
  for (const short of MONITORED) if (!except.includes(short)) cluster.relist(short, 0, false)
  const told = [...cluster.streams.values()].flatMap((stream) => stream.splice(0))
  return { cluster, told }
}

/** Watched kinds that a script names, as objects or as owners. */
export function kindsNamed(script: readonly string[]): readonly string[] {
  const names = new Set(script.join(' ').match(/[a-z]+(?=[./-])/g))
  return MONITORED.filter((short) => names.has(short))
}

/** The events of each kind's watch, in order; kinds without events are left out. */
export function streamsOf(cluster: ModelCluster): readonly (readonly Event[])[] {
  return [...cluster.streams.values()].filter((stream) => stream.length > 0)
}

/** Live events, in the order in which the server wrote the versions they publish. */
export function asHappened(events: readonly Event[]): readonly Event[] {
  return [...events].sort((a, b) => versionOf(a) - versionOf(b))
}

function versionOf(event: Event): number {
  if ('object' in event && event.object !== null) return Number(event.object.resourceVersion)
  return event.type === 'Touched' ? Number(event.entries[0]?.resourceVersion) : 0
}
