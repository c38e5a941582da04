/**
 * What one object of a tenant's costs on the log, in bytes (I37), the live GETs for owners that
 * never were (I38), and owners that are named by uid alone (I1).
 *
 * What must stay true: each cause is counted, so that nothing is forgiven by a factor. Causes are
 * effects on the object, on owners that it named and on dependents that named it (a waiting owner
 * is judged when the last of them goes), results of commands about it, and what a faulty list makes
 * of it: it is lost from the graph, and comes back. A version that is published again (a relist, a
 * restart, a fault of the log) costs nothing in `events`.
 *
 * Not here: work and waits, in references and records (cost-checkers.ts).
 */
import { coordinatesPart } from '../../core/graph/key.ts'
import type { Command } from '../../core/model/command.ts'
import { COMMAND_LIFE_MS } from '../../core/model/constant.ts'
import type { Coordinates, ObjectMeta } from '../../core/model/object.ts'
import type { Produced, Topic } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { groupIn } from '../../testing/model/oracle.ts'
import type { Checker, Folded, World } from '../model.ts'
import { TENANT } from '../workload.ts'

/** What may be written for each byte that was sent, and because of each cause. */
const FOR_A_BYTE = 20
const FOR_A_CAUSE = 16 * 1024
/** Live GETs under way at once because of one namespace. */
const GETS = 32
export const byteCheckers: readonly Checker[] = [
  {
    invariant: 'I37: an object costs 20 bytes on the log for each one sent, and 16 KiB a cause',
    appended: (world, { topic, records }) =>
      records.map((record) => objectionTo(world, topic, record)).find((text) => text !== '') ?? '',
  },
  {
    invariant: 'I38: of owners that never were a namespace has 32 live GETs under way',
    folded: questionsOf,
  },
  {
    invariant: 'I1: no command rests on an owner that its object names by uid alone',
    folded: (_, { outcome }) => {
      const wrong = outcome.commands.find((command) => !restsOnNamed(command))
      return wrong === undefined ? '' : `${wrong.type} of ${wrong.target.name} rests on a uid (I1)`
    },
  },
]

interface Cost {
  bytes: number
  /** Results of commands about it. */
  results: number
  /** How often it left the graph. */
  departures: number
  /**
   * Uids of objects that it named at some time, or that named it: an owner waits for its
   * dependents.
   */
  readonly related: Set<string>
  /** Versions that were published. */
  readonly versions: Set<string>
}

/** Of each object of a tenant's, by log, as `cluster/uid`. */
const costs = new WeakMap<object, Map<string, Cost>>()

function costOf({ broker }: World, key: string): Cost {
  const all = costs.get(broker.log) ?? new Map<string, Cost>()
  costs.set(broker.log, all)
  const cost = all.get(key) ?? {
    ...{ bytes: 0, results: 0, departures: 0 },
    ...{ related: new Set<string>(), versions: new Set<string>() },
  }
  all.set(key, cost)
  return cost
}

function objectionTo(world: World, topic: Topic, record: Produced): string {
  const about = subjectOf(world, topic, record)
  if (about === undefined) return ''
  const [cluster, uid] = about
  const site = world.sites.find(({ id }) => id === cluster)
  const sent = site?.sent.get(uid)
  if (site === undefined || sent?.namespace !== TENANT) return ''
  const cost = costOf(world, `${cluster}/${uid}`)
  if (topic === 'events' && isOld(world, cluster, record, cost)) return ''
  cost.bytes += Buffer.byteLength(record.key) + (record.value?.byteLength ?? 0)
  if (topic === 'changelog' && record.value === null && record.key.startsWith('node/')) {
    cost.departures += 1
  }
  // It left, and is or was there again.
  let causes = sent.effects + cost.results + 2 * cost.departures
  for (const each of cost.related) causes += site.sent.get(each)?.effects ?? 0
  const allowed = FOR_A_BYTE * sent.bytes + FOR_A_CAUSE * causes
  const name = `${site.name} ${uid}`
  return cost.bytes > allowed
    ? `${name}: ${cost.bytes} bytes on the log for ${sent.bytes} sent and ${causes} causes (I37)`
    : ''
}

/** The cluster and the uid that a record is about. */
function subjectOf(
  { codec }: World,
  topic: Topic,
  { key, value }: Produced,
): readonly [cluster: string, uid: string] | undefined {
  const parts = key.split('/')
  const [first = '', second = '', third = ''] = parts
  if (topic === 'changelog') return [second, first === 'owners' ? third : (parts.at(-1) ?? '')]
  if (topic === 'history' || topic === 'lineage' || topic === 'commands') return [first, second]
  if (topic !== 'events' || second !== TENANT || value === null) return undefined
  const event = codec.decode(value)
  if (event.type === 'CommandSettled') return [first, event.uid]
  const object = objectIn(event)
  return object === undefined ? undefined : [first, object.uid]
}

/** The object that an event shows, whole or as what changed of its owner references. */
function objectIn(event: ReturnType<Codec['decode']>): ObjectMeta | undefined {
  switch (event.type) {
    case 'ObjectAdded':
    case 'ObjectUpdated':
    case 'ObjectDeleted':
    case 'ObjectEdited':
      return event.object
    case 'CommandSettled':
      return event.object ?? undefined
    default:
      return undefined
  }
}

/** Whether this version was published before; notes what the event says. */
function isOld(world: World, cluster: string, { value }: Produced, cost: Cost): boolean {
  const event = world.codec.decode(value!)
  if (event.type === 'CommandSettled') cost.results += 1
  const object = objectIn(event)
  if (object === undefined) return false
  const edits = event.type === 'ObjectEdited' ? event.edits.flatMap(({ added }) => added) : []
  for (const { uid } of [...object.ownerReferences, ...edits]) {
    cost.related.add(uid)
    costOf(world, `${cluster}/${uid}`).related.add(object.uid)
  }
  const version = `${event.type === 'ObjectDeleted'} ${object.resourceVersion}`
  const isKnown = event.type !== 'CommandSettled' && cost.versions.has(version)
  cost.versions.add(version)
  return isKnown
}

interface Questions {
  position: bigint
  /** By owner: any answer about it is one to all that was asked. */
  readonly underWay: Map<string, Asked>
}

interface Asked {
  readonly command: string
  readonly cluster: string
  readonly epoch: number
  readonly atMs: number
}

/** By log, of each partition. */
const questions = new WeakMap<object, Map<number, Questions>>()

function ownerKey(cluster: string, uid: string, place: Coordinates): string {
  return `${cluster}/${uid}/${coordinatesPart(place)}`
}

/** Owners that no server ever had are named in the tenant's namespace only. */
function questionsOf(world: World, { event, at, outcome }: Folded): string {
  const all = questions.get(world.broker.log) ?? new Map<number, Questions>()
  questions.set(world.broker.log, all)
  const known = all.get(at.partition) ?? { position: -1n, underWay: new Map<string, Asked>() }
  all.set(at.partition, known)
  // Another process takes over before the commit, and folds the same again.
  if (world.isLogHurt || at.position <= known.position) return ''
  known.position = at.position
  const { underWay } = known
  if ('command' in event) {
    const answered = [...underWay].find(([, asked]) => asked.command === event.command)
    if (answered !== undefined) underWay.delete(answered[0])
  }
  if ('owner' in event) underWay.delete(ownerKey(event.cluster, event.uid, event.owner))
  for (const { type, id, cluster, clusterEpoch: epoch, target } of outcome.commands) {
    if (type !== 'VerifyOwner' || target.namespace !== TENANT) continue
    if (world.homes.has(target.uid)) continue
    const asked = { command: id, cluster, epoch, atMs: at.timestamp }
    underWay.set(ownerKey(cluster, target.uid, target), asked)
    // A GET of another epoch counts no longer, nor one that has expired: no reaper makes it then.
    for (const [each, asked] of underWay) {
      const isOfOld = asked.cluster === cluster && asked.epoch !== epoch
      if (isOfOld || at.timestamp - asked.atMs > COMMAND_LIFE_MS) underWay.delete(each)
    }
    const count = [...underWay.values()].filter((asked) => asked.cluster === cluster).length
    if (count > GETS) return `${count} live GETs under way for owners that never were (I38)`
  }
  return ''
}

/**
 * Whether each owner is where a reference says: uid, group, name, and in no or its own namespace.
 */
function restsOnNamed(command: Command): boolean {
  if (command.type !== 'DeleteObject' && command.type !== 'OrphanDependent') return true
  const { target, references, owners } = command
  // What a rule names is no owner: its law is I39.
  if (command.type === 'DeleteObject' && command.rule !== null) return true
  return owners.every(({ uid, group, name, namespace }) => {
    const isNamed = references.some(
      (each) => each.uid === uid && each.name === name && groupIn(each.apiVersion) === group,
    )
    return isNamed && (namespace === '' || namespace === target.namespace)
  })
}
