/**
 * Checkers of the safeguards: budgets, holds, the archive (I10, I11, I14, and of I31 what the
 * archive may hold).
 *
 * What must stay true: they know from servers and log alone what was decided and what was true
 * then. Where only the graph can know how an owner's absence was proved, they demand the least that
 * any proof of it demands.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import type { DeleteObject } from '../../core/model/command.ts'
import type { Archived } from '../../ports/record/service-record.ts'
import { isApproved } from '../fault/approvals.ts'
import type { Checker, EffectSeen, World } from '../model.ts'
import { ruleBehind, ruledSinceMs } from '../rule/rule-law.ts'
import { CANARY } from '../workload.ts'

const WINDOW_MS = 600_000
/** A controller may not have observed yet that the owner of the object it creates was deleted. */
const LATE_MS = 1_000

export const safeguardCheckers: readonly Checker[] = [
  {
    invariant: 'I10: in no ten minutes more deletions begin than the budget allows',
    appended: (world, { topic, records }) => {
      const { mode, budgets } = world.policy
      if (topic !== 'commands' || mode !== 'enforce' || budgets === null) return ''
      for (const { value } of records) {
        const record = value === null ? undefined : world.codec.decode(value)
        if (record?.type !== 'DeleteObject' || record.mode !== 'enforce') continue
        const begun = begunBy(world, record)
        if (begun === undefined) continue
        const { budget, limit, what } = begun
        const seen = sizeOf(world, `${record.cluster} ${budget}`, what)
        if (seen === limit && isFoldingAgain(world)) world.reached('F92')
        if (seen > limit) return `${budget} number ${seen} of ${limit} in ten minutes (I10)`
      }
      return ''
    },
  },
  {
    invariant: 'I11: no delete takes effect before its hold is over',
    folded: (world, { event, at, outcome }) => {
      if (event.type !== 'ObjectDeleted' || outcome.dropped !== null) return ''
      observedOf(world).set(`${event.cluster} ${event.object.uid}`, at.timestamp)
      return ''
    },
    appended: (world, { topic, records }) => {
      for (const { value } of topic === 'commands' ? records : []) {
        const record = value === null ? undefined : world.codec.decode(value)
        if (record?.type !== 'DeleteObject' || record.mode !== 'enforce') continue
        const site = world.sites.find(({ id }) => id === record.cluster)
        if (site === undefined) continue
        const { uid } = record.target
        const truth = world.truthOf(site)
        // A user may have been quicker, and no watch has reported it yet: its dependents have
        // waited with it nevertheless.
        const before = site.all().find(({ metadata }) => metadata.uid === uid) ?? truth.removed(uid)
        if (before === undefined) continue
        const isRuled = record.rule !== null
        const sinceMs = isRuled
          ? ruledSinceMs(world, site.id, before)
          : holdOf({ world, site, truth, before }).sinceMs
        truth.commanded(before, sinceMs)
      }
      return ''
    },
    effect: (seen) => {
      const { world, truth, site, acting, before } = seen
      if (acting.request.method !== 'DELETE') return ''
      if (ruleBehind(seen) !== undefined) {
        truth.heldSinceMs.set(before.metadata.uid, ruledSinceMs(world, site.id, before))
        return ''
      }
      const { sinceMs, holdMs } = holdOf(seen)
      truth.heldSinceMs.set(before.metadata.uid, sinceMs)
      if (isApproved(world, site.id, before)) return ''
      const forMs = world.time.now() - sinceMs
      return forMs < holdMs ? `without an owner for ${forMs} ms of ${holdMs} (I11)` : ''
    },
  },
  {
    invariant: 'I14 I31: what is deleted is in the archive, unchanged; a Secret only if asked for',
    appended: (world, { topic, records }) => {
      for (const { value } of topic === 'archive' ? records : []) {
        const record = value === null ? undefined : world.codec.decode(value)
        if (record?.type !== 'Archived') return 'no object in the archive (I14)'
        const isSecret = record.group === '' && record.resource === 'secrets'
        const isBare = isSecret && world.options.archive !== 'secrets'
        if (isBare && (record.content === 'whole' || textOf(record).includes(CANARY)))
          return `the Secret ${record.name} is in the archive, and nobody asked for it (I31)`
        recordsOf(world, record.cluster, record.uid).push(record)
      }
      return ''
    },
    effect: ({ world, site, acting, before }) => {
      if (world.options.archive === 'off' || acting.request.method !== 'DELETE') return ''
      const { uid, resourceVersion } = before.metadata
      const kept = recordsOf(world, site.id, uid).findLast(
        (record) => record.resourceVersion === resourceVersion,
      )
      if (kept === undefined) return 'it is not in the archive (I14)'
      return isWhole(kept, before) ? '' : `the archive has it otherwise: ${textOf(kept)} (I14)`
    },
  },
]

interface Begun {
  readonly budget: string
  readonly limit: number
  /** Each subject is paid for once. */
  readonly what: string
}

/** Undefined: it costs nothing, or no checker can say what. */
function begunBy(world: World, command: DeleteObject): Begun | undefined {
  const { budgets } = world.policy
  const { cluster, evidence, references, target } = command
  const site = world.sites.find(({ id }) => id === cluster)
  if (budgets === null || site === undefined) return undefined
  const truth = world.truthOf(site)
  if (truth.hasEnded(target.namespace)) return undefined
  if (evidence === 'not-found')
    return { budget: 'not-found', limit: budgets.notFound, what: target.uid }
  const [reference, ...others] = references
  if ((evidence !== 'deleted' && evidence !== 'missing') || reference === undefined)
    return undefined
  // Its owner waits for it: a user asked for that, whatever the command rests on once it is issued
  // again.
  if (truth.waited.has(reference.uid)) return undefined
  // Of several owners the one that was deleted last is paid for; deletions by Kinfold were paid for
  // before.
  if (others.length > 0 || truth.deleted.has(reference.uid)) return undefined
  // Referenced when it had long been deleted: its deletion may have been paid for by then, for
  // other dependents that exist no longer.
  const before = site.all().find(({ metadata }) => metadata.uid === target.uid)
  const goneMs = before && truth.goneSinceMs(before, reference)
  if (before && goneMs && truth.namesSinceMs(before) - goneMs > WINDOW_MS) return undefined
  const { deleted, missing } = budgets
  // For an owner that a relist missed each dependent is paid for; for one whose deletion was
  // observed, the owner.
  return { budget: 'deleted or missing', limit: deleted + missing, what: reference.uid }
}

/** By a process that is not the first of its place. */
function isFoldingAgain(world: World): boolean {
  return world.slots.some(({ roles, lives }) => roles.folds && lives > 1)
}

/** Per log: a person who begins with another log has begun anew. */
const windows = new WeakMap<object, Map<string, Map<string, number>>>()

/** How many different things the last ten minutes saw for the first time, this one included. */
function sizeOf(world: World, window: string, what: string): number {
  const { log } = world.broker
  const all = windows.get(log) ?? new Map<string, Map<string, number>>()
  windows.set(log, all)
  const firstMs = all.get(window) ?? new Map<string, number>()
  all.set(window, firstMs)
  const nowMs = world.time.now()
  if (firstMs.has(what)) return 0
  firstMs.set(what, nowMs)
  let size = 0
  for (const ms of firstMs.values()) if (ms > nowMs - WINDOW_MS) size++
  return size
}

interface Hold {
  readonly sinceMs: number
  readonly holdMs: number
}

/** Per log: when the deletion of each uid was last observed. */
const observed = new WeakMap<object, Map<string, number>>()

function observedOf({ broker }: World): Map<string, number> {
  const all = observed.get(broker.log) ?? new Map<string, number>()
  observed.set(broker.log, all)
  return all
}

type Held = Pick<EffectSeen, 'world' | 'site' | 'truth' | 'before'>

/** Created when the deletion of its owner had been observed, as a backup tool restores objects. */
function isLate({ world, site, truth, before }: Held, owner: Reference): boolean {
  const observedMs = observedOf(world).get(`${site.id} ${owner.uid}`)
  const goneMs = truth.goneSinceMs(before, owner)
  // Observed before the server was restored, it proves nothing about the life after that.
  if (observedMs === undefined || goneMs === 0 || observedMs < goneMs) return false
  return Date.parse(before.metadata.creationTimestamp) > observedMs + LATE_MS
}

type Reference = NonNullable<ApiObject['metadata']['ownerReferences']>[number]

/**
 * The least hold that the policy has for it, and the earliest time since when it holds. A dependent
 * of an owner that Kinfold deleted has waited with it.
 */
function holdOf(held: Held): Hold {
  const { world, truth, before } = held
  const { deletedMs, notFoundMs } = world.policy.holds
  const { ownerReferences = [] } = before.metadata
  const namedMs = truth.namesSinceMs(before)
  let [sinceMs, holdMs] = [0, 0]
  let [isAskedFor, hasWaited] = [false, true]
  for (const owner of ownerReferences) {
    const removedMs = truth.goneSinceMs(before, owner)
    // One that waited for its dependents was no owner to them before it was removed, either.
    const goneMs = Math.min(removedMs, truth.waitedSinceMs.get(owner.uid) ?? removedMs)
    const waitedMs = namedMs <= goneMs ? truth.heldSinceMs.get(owner.uid) : undefined
    hasWaited &&= waitedMs !== undefined
    sinceMs = Math.max(sinceMs, waitedMs ?? goneMs)
    // A user asked for its dependents to be deleted before it.
    if (truth.waited.has(owner.uid)) isAskedFor = true
    if (!world.homes.has(owner.uid) || isLate(held, owner)) holdMs = notFoundMs
  }
  return {
    sinceMs: hasWaited ? sinceMs : Math.max(sinceMs, namedMs),
    holdMs: isAskedFor ? holdMs : Math.max(holdMs, deletedMs),
  }
}

const archives = new WeakMap<object, Map<string, Archived[]>>()

function recordsOf({ broker }: World, cluster: string, uid: string): Archived[] {
  const all = archives.get(broker.log) ?? new Map<string, Archived[]>()
  archives.set(broker.log, all)
  const records = all.get(`${cluster}/${uid}`) ?? []
  all.set(`${cluster}/${uid}`, records)
  return records
}

function textOf({ piece }: Archived): string {
  return Buffer.from(piece).toString()
}

/** No object of a world needs a second piece. */
function isWhole(kept: Archived, before: ApiObject): boolean {
  const { piece, digest, chunk, last, content } = kept
  if (chunk !== 0 || !last) return false
  if (createHash('sha256').update(piece).digest('hex') !== digest) return false
  const told = JSON.parse(textOf(kept)) as ApiObject
  if (content === 'metadata') return told.metadata.uid === before.metadata.uid
  const { managedFields: _, ...metadata } = before.metadata as ApiObject['metadata'] & {
    readonly managedFields?: unknown
  }
  // Of several versions that are served any is the whole of it.
  const isOfGroup = groupOf(told) === groupOf(before)
  const { apiVersion } = told
  return (
    isOfGroup &&
    isDeepStrictEqual(told, JSON.parse(JSON.stringify({ ...before, apiVersion, metadata })))
  )
}

function groupOf({ apiVersion }: ApiObject): string {
  return apiVersion.slice(0, apiVersion.lastIndexOf('/') + 1)
}
