/**
 * What happens between clusters whose objects belong to each other: one is cut off, from all
 * processes or from one, is set back to before an owner was deleted, or is replaced by another; an
 * owner leaves in a way that is no deletion of what names it; and a side takes its consent back.
 *
 * What must stay true: only worlds with such rules have these. What could not be reached is noted
 * for the law.
 *
 * Not here: who names and deletes owners in quiet times (../rule/drawn-elsewhere.ts).
 */
import type { GroupKind } from '../../core/model/object.ts'
import type { RuleElsewhere } from '../../core/model/rule/elsewhere.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { ExchangeError } from '../../ports/exchange.ts'
import { seeded } from '../../testing/seeded.ts'
import type { Fault, FaultContext } from '../model.ts'
import { ELSEWHERE_FROM, type SimOptions } from '../options.ts'
import {
  AcrossUsers,
  asksElsewhere,
  deleteObject,
  isThere,
  type Made,
  sharedPlaces,
  takeOff,
  WIDGET,
} from '../rule/drawn-elsewhere.ts'
import { noteCut, noteReplaced } from '../rule/elsewhere-law.ts'
import type { Site } from '../site.ts'
import { startAll } from './configured.ts'
import { hasMetAnother } from './network-faults.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
/** By then it is mostly known who names an owner. */
const KNOWN_MS = 15 * SECOND
const UNSEEN_MS = 10 * SECOND

const asks = ({ seed, policy }: Omit<SimOptions, 'faults'>): boolean =>
  seed > ELSEWHERE_FROM && policy.mode === 'enforce' && policy.rules.some(asksElsewhere)

interface Asking {
  readonly rule: Rule
  readonly elsewhere: RuleElsewhere
  /** The cluster of the owners. */
  readonly home: Site
}

/** Undefined once that cluster is no more. `isActing`: of an enforced rule, where there is one. */
function askingOf({ world, fault }: FaultContext, isActing = false): Asking | undefined {
  const { policy, enforced } = world.options
  const asking = policy.rules.filter(asksElsewhere)
  const acting = asking.filter(({ name }) => enforced.includes(name))
  const rules = isActing && acting.length > 0 ? acting : asking
  const rule = rules[fault.target % rules.length]
  const elsewhere = rule?.elsewhere ?? null
  const home = world.sites.find(({ id }) => id === elsewhere?.cluster)
  if (rule === undefined || elsewhere === null || home === undefined) return undefined
  return { rule, elsewhere, home }
}

export const elsewhereFaults: readonly Fault[] = [
  {
    row: 'far cut',
    what: 'nothing reaches a cluster whose objects are owners elsewhere, and users go on there',
    lastsMs: [30 * SECOND, 50 * MINUTE],
    most: 2,
    share: 0.6,
    suits: asks,
    begin(context) {
      const { world } = context
      const home = askingOf(context)?.home
      if (home === undefined) return undefined
      const cut = noteCut(world, home)
      const end = world.network.hinder(({ site }) => {
        if (site === home) throw new ExchangeError('UNREACHABLE', 'no route to it')
        return undefined
      })
      world.network.cut(home.name)
      world.reached('far cut')
      return once(() => {
        end()
        cut.until = world.time.monotonicMs()
      })
    },
  },
  {
    row: 'far cut from one',
    what: 'one process does not reach a cluster whose objects are owners elsewhere',
    lastsMs: [30 * SECOND, 50 * MINUTE],
    most: 2,
    share: 0.5,
    suits: (options) => asks(options) && options.shape === 'apart',
    begin(context) {
      const { world, fault } = context
      const home = askingOf(context)?.home
      const slots = world.slots.filter(({ roles }) => roles.reaps || roles.watches)
      const slot = slots[fault.seed % slots.length]
      if (home === undefined || slot === undefined) return undefined
      const cut = noteCut(world, home, slot.name)
      const end = world.network.hinder(({ site, by }) => {
        if (site !== home || !by.name.startsWith(`${slot.name}.`)) return undefined
        world.reached('far cut from one')
        throw new ExchangeError('UNREACHABLE', 'no route to it')
      })
      world.network.cut(home.name)
      return once(() => {
        end()
        cut.until = world.time.monotonicMs()
      })
    },
  },
  {
    row: 'far restored',
    what: 'an owner of objects elsewhere is deleted, and its cluster is restored to before that',
    lastsMs: [10 * SECOND, 70 * MINUTE],
    most: 2,
    share: 0.6,
    suits: asks,
    begin: restored,
  },
  {
    row: 'far replaced',
    what: 'a cluster whose objects are owners elsewhere is lost for good, and another one gets its name',
    lastsMs: [30 * SECOND, 60 * MINUTE],
    most: 1,
    share: 0.3,
    suits: asks,
    begin: replaced,
  },
  {
    row: 'far lineage lost',
    what: 'an unclean election cuts off the end of the lineage by which owners elsewhere are followed',
    lastsMs: [1, 1],
    most: 2,
    share: 0.4,
    suits: asks,
    begin({ world, fault }) {
      const { log, partitions } = world.broker
      const partition = fault.target % partitions
      const count = BigInt(1 + seeded(fault.seed).below(30))
      void log.bounds('lineage', partition).then(({ start, end }) => {
        if (end === start) return
        log.cutOff('lineage', partition, end - count > start ? end - count : start)
        world.reached('far lineage lost')
      })
      return undefined
    },
  },
  {
    row: 'far orphaned',
    what: 'an owner of objects elsewhere is deleted with orphan, another client takes that finalizer off, unseen or not, and one of its own stays for a while',
    lastsMs: [20 * SECOND, 30 * MINUTE],
    most: 3,
    share: 0.6,
    suits: asks,
    begin: orphaned,
  },
  {
    row: 'far swept',
    what: 'a namespace of owners of objects elsewhere, or the definition of their kind, is deleted with all in it, and made again',
    lastsMs: [20 * SECOND, 30 * MINUTE],
    most: 3,
    share: 0.6,
    suits: asks,
    begin: swept,
  },
  {
    row: 'far unshared',
    what: 'the config takes back what a cluster exports, or a rule imports, and later has it as before',
    lastsMs: [3 * MINUTE, 40 * MINUTE],
    most: 2,
    share: 0.4,
    suits: asks,
    begin(context) {
      const { world, fault } = context
      const asking = askingOf(context)
      if (world.policy !== world.options.policy || asking === undefined) return undefined
      const { elsewhere } = asking
      const other = seeded(fault.seed).pick<RuleElsewhere>([
        { ...elsewhere, exports: [] },
        { ...elsewhere, namespaces: ['red'] },
        { ...elsewhere, kinds: elsewhere.kinds.slice(-1) },
      ])
      const rules = world.policy.rules.map((rule) =>
        rule.name === asking.rule.name ? { ...rule, elsewhere: other } : rule,
      )
      startAll(world, { ...world.policy, rules })
      world.reached('far unshared')
      return once(() => startAll(world, world.options.policy))
    },
  },
]

/** An owner that objects in other clusters name. */
function named(
  { world, fault }: FaultContext,
  { rule, elsewhere }: Asking,
  ...how: Parameters<AcrossUsers['makeShared']>
): Made | undefined {
  const chance = seeded(fault.seed)
  const users = new AcrossUsers(world.sites, { ...rule, name: `f${fault.seed}` }, elsewhere, chance)
  const owner = users.makeShared(...how)
  if (owner === undefined) return undefined
  for (let i = 0; i < 3; i++) users.makeDependent(owner)
  users.makeNear(owner)
  return owner
}

function orphaned(context: FaultContext): (() => void) | undefined {
  const { world, fault } = context
  const asking = askingOf(context, true)
  const owner = asking && named(context, asking, true)
  if (asking === undefined || owner === undefined) return undefined
  const { home } = asking
  const chance = seeded(fault.seed ^ 1)
  const isUnseen = chance.next() < 0.4
  const laterMs = chance.pick([0, 0, 1_000, 5_000])
  let healed = (): void => {}
  const at = world.time.monotonicMs() + KNOWN_MS
  world.time.at(at, () => {
    if (isUnseen) healed = unseen(world, home)
    deleteObject(owner, 'Orphan')
    world.time.at(at + laterMs, () => {
      takeOff(owner, ['orphan'])
      if (isUnseen) home.server.compact()
    })
    world.time.at(at + UNSEEN_MS, () => healed())
  })
  return once(() => {
    healed()
    takeOff(owner)
    if (!isThere(home, owner.object)) world.reached('far orphaned')
  })
}

/** Nothing there is seen meanwhile. */
function unseen(world: FaultContext['world'], home: Site): () => void {
  const end = world.network.hinder(({ site }) => {
    if (site === home) throw new ExchangeError('UNREACHABLE', 'no route to it')
    return undefined
  })
  world.network.cut(home.name)
  return once(end)
}

function swept(context: FaultContext): (() => void) | undefined {
  const { world, users, fault } = context
  const asking = askingOf(context, true)
  const there = users.find(({ site }) => site === asking?.home)
  if (asking === undefined || there === undefined) return undefined
  const { home, elsewhere } = asking
  const isOfCustom = ({ group }: GroupKind): boolean => group === WIDGET.group
  const hasCustom = sharedPlaces(elsewhere).some(({ kind }) => isOfCustom(kind))
  const isOfKind = hasCustom && seeded(fault.seed ^ 1).next() < 0.6
  if (isOfKind) there.haveWidgets()
  const owner = named(context, asking, false, (kind) => isOfCustom(kind) === isOfKind)
  const namespace = owner?.object.metadata.namespace
  if (owner === undefined || namespace === undefined) return undefined
  world.time.at(world.time.monotonicMs() + KNOWN_MS, () => {
    if (isOfKind) there.undefine()
    else home.user('DELETE', `/api/v1/namespaces/${namespace}`, {})
  })
  return once(() => {
    if (isOfKind) there.haveWidgets()
    else there.settle()
    if (!isThere(home, owner.object)) world.reached('far swept')
  })
}

function restored(context: FaultContext): (() => void) | undefined {
  const { world, fault } = context
  const asking = askingOf(context)
  if (asking === undefined) return undefined
  const { rule, elsewhere, home } = asking
  const chance = seeded(fault.seed)
  const users = new AcrossUsers(world.sites, { ...rule, name: `r${fault.seed}` }, elsewhere, chance)
  const owner = users.makeOwner()
  if (owner === undefined) return undefined
  for (let i = 0; i < 3; i++) users.makeDependent(owner)
  // Mostly what names it is known by then.
  const isLate = chance.next() < 0.8
  let writes = Number.POSITIVE_INFINITY
  world.time.at(world.time.monotonicMs() + (isLate ? 5 : 1) * SECOND, () => {
    writes = home.writes
    deleteObject(owner, 'Background')
  })
  return once(() => {
    const back = home.writes - writes
    // Another restore may have been first.
    if (back <= 0) return
    world.network.cut(home.name)
    home.restore(back + chance.below(3))
    world.network.cut(home.name)
    if (isThere(home, owner.object)) world.reached('far restored')
  })
}

function replaced(context: FaultContext): (() => void) | undefined {
  const { world, users } = context
  const home = askingOf(context)?.home
  if (home === undefined) return undefined
  noteReplaced(world, home.id)
  world.network.route(home.name, undefined)
  world.network.cut(home.name)
  // Processes that met the lost one notice it by and by.
  world.excuses.add((error) => {
    return error instanceof Error && ['WatcherError', 'TwinError'].includes(error.name)
  })
  return once(() => {
    home.replace()
    users.find(({ site }) => site === home)?.settle()
    world.network.route(home.name, home)
    world.network.cut(home.name)
    world.reached('far replaced')
    for (const slot of world.slots) if (hasMetAnother(slot, home)) slot.terminate()
  })
}

/** Whatever heals everything may come before its own time. */
function once(end: () => void): () => void {
  let isOver = false
  return () => {
    if (isOver) return
    isOver = true
    end()
  }
}
