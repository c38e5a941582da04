/**
 * Checkers of cost: how much work one record may cause in the fold (I35), and how long a deletion
 * may wait for the writes of others (I36).
 *
 * What must stay true: cost is counted in references and records, never in seconds.
 */
import type { Event } from '../../core/model/event.ts'
import type { Checker, Folded, World } from '../model.ts'
import { TENANT } from '../workload.ts'

/** References that a record may judge: a thousand, or one object with as many as there may be. */
const WORK_OF_A_RECORD = 1_025
/**
 * Records that continue the work that is left, between the event that made an object garbage and
 * the decision to delete it.
 */
const CONTINUES = 16

export const costCheckers: readonly Checker[] = [
  {
    invariant: 'I35: no record makes the fold judge more than 1,025 references',
    folded: (_, { event, at, outcome }) =>
      outcome.work > WORK_OF_A_RECORD
        ? `${event.type} at ${at.partition}-${at.position} made it judge ${outcome.work} (I35)`
        : '',
  },
  {
    invariant: 'I36: a deletion is decided within 16 records of work that is left',
    folded: (world, folded) => {
      const waited = waitOf(world, folded)
      return waited > CONTINUES ? `a deletion waited for ${waited} records of others (I36)` : ''
    },
  },
]

/** The records that a partition has folded without a moment in which no work was left. */
interface Stretch {
  position: bigint
  isBusy: boolean
  /** Records that continued with the work that was left. */
  continues: number
  /** How many there had been when an object was deleted, or changed. */
  readonly deleted: Map<string, number>
  readonly seen: Map<string, number>
}

/** Per log: a person who begins with another log has begun anew. */
const stretches = new WeakMap<object, Map<number, Stretch>>()

function stretchOf({ broker }: World, partition: number): Stretch {
  const all = stretches.get(broker.log) ?? new Map<number, Stretch>()
  stretches.set(broker.log, all)
  const none = { position: -1n, isBusy: false, continues: 0, deleted: new Map(), seen: new Map() }
  const stretch = all.get(partition) ?? none
  all.set(partition, stretch)
  return stretch
}

/** The longest wait of a deletion that was decided by this record, and that only work delayed. */
function waitOf(world: World, { event, at, outcome }: Folded): number {
  const stretch = stretchOf(world, at.partition)
  // Another process takes over before the commit, and folds the same again.
  if (world.isLogHurt || at.position <= stretch.position) return 0
  stretch.position = at.position
  note(stretch, event)
  let longest = 0
  for (const command of world.policy.preset === 'parity' ? outcome.commands : []) {
    if (command.type !== 'DeleteObject' || command.evidence !== 'deleted') continue
    const { cluster, target, references } = command
    if (target.namespace === TENANT) continue
    const since = references.map(({ uid }) => stretch.deleted.get(`${cluster}/${uid}`))
    // Deleted before this stretch began: then something else held it.
    if (since.includes(undefined)) continue
    const changed = stretch.seen.get(`${cluster}/${target.uid}`) ?? 0
    const from = Math.max(changed, ...since.map((each) => each ?? 0))
    longest = Math.max(longest, stretch.continues - from)
  }
  end(stretch, event, outcome.continues)
  return longest
}

function note(stretch: Stretch, event: Event): void {
  if (event.type === 'Continue') stretch.continues++
  if (event.type === 'ObjectDeleted')
    stretch.deleted.set(`${event.cluster}/${event.object.uid}`, stretch.continues)
  if (event.type === 'ObjectAdded' || event.type === 'ObjectUpdated')
    stretch.seen.set(`${event.cluster}/${event.object.uid}`, stretch.continues)
}

/** A record that leaves work behind says so, except one that comes while some is left already. */
function end(stretch: Stretch, { type }: Event, continues: boolean): void {
  stretch.isBusy = continues || (type !== 'Continue' && stretch.isBusy)
  if (stretch.isBusy) return
  stretch.continues = 0
  stretch.deleted.clear()
  stretch.seen.clear()
}
