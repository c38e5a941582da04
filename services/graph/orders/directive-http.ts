/**
 * Takes the orders of users and appends them to the log, where reapers and the fold read them.
 *
 * What must stay true: an order that stops deletions is published to the reapers first, one that
 * permits them is published to the reapers last; an answer is given only when all of it is
 * appended. An approval is of the set that is held just now, or it is refused.
 *
 * Not here: what may be asked for (directive-order.ts), who may ask (authority.ts), what follows
 * from it (core/admit/directive.ts).
 */

import type { FastifyInstance } from 'fastify'
import { MOST_FORGOTTEN, MOST_PROTECTED } from '../../../core/admit/directive.ts'
import { readFinalizerSubject } from '../../../core/admit/finalizer-order.ts'
import { directivesOf, policyOf } from '../../../core/graph/graph.ts'
import { scopeFlag } from '../../../core/graph/scope-flag.ts'
import type { Directive } from '../../../core/model/event.ts'
import { EMPTY_SET, type SetHash } from '../../../core/model/hash.ts'
import type { ClusterId } from '../../../core/model/object.ts'
import type { Mode } from '../../../core/model/policy.ts'
import { type AppendTime, MOST_AHEAD_MS } from '../../../ports/append-time.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Log } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import { pauseKey, protectKey, ruleOrderKey } from '../../../ports/record/control-key.ts'
import type { Control, RuleOrder } from '../../../ports/record/service-record.ts'
import { principalOf, whoIs } from '../../../runtime/http/principal.ts'
import { Problem } from '../../../runtime/http/problem.ts'
import type { DirectiveResult } from '../api/answer-schema.ts'
import type { Document } from '../api/document.ts'
import { clusterRefs, documentOf } from '../api/document.ts'
import { PROMISES, type Promised, type Verb } from '../api/promise.ts'
import { labelOf } from '../api/word.ts'
import { giveOrder } from '../fold/order.ts'
import { approvalSetOf, firstApprovalIn } from '../query/answer/held.ts'
import type { Access } from '../query/ask/access.ts'
import { refuseUnnamed } from '../query/ask/not-found.ts'
import { finalizerPlanOf } from '../query/plan/finalizer-plan.ts'
import { forgetPart } from '../query/plan/forget-plan.ts'
import type { KnownCluster } from '../query/view/clusters.ts'
import type { Forwarding } from '../query/view/forward.ts'
import type { View } from '../query/view/view.ts'
import { type AsideParts, asideOf } from './directive-aside.ts'
import { type Order, readOrder } from './directive-order.ts'
import { checkRule } from './rule-check.ts'

export interface DirectiveParts extends AsideParts {
  readonly access: Access
  readonly forwarding: Forwarding
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  /** The log's own time and the wall clock; undefined where brokers give the times. */
  readonly logTime?: Pick<AppendTime, 'confirmWall' | 'wallAheadMs'> | undefined
}

/** How far it has come when it is answered. */
export type DirectiveAnswer = Omit<DirectiveResult, keyof Document>

/**
 * How long the answer waits until this process' partitions have folded it, and how often it checks.
 */
const FOLD_MS = 2_000
const FOLD_LOOK_MS = 20

export function addDirectives(server: FastifyInstance, parts: DirectiveParts): void {
  const inTurn = oneAfterTheOther()
  server.post('/v1/directives', async (request, reply): Promise<object> => {
    const principal = principalOf(request)
    // Whatever page a browser on this machine shows could ask for it.
    if (principal.by === 'local' && request.headers.origin !== undefined) {
      throw new Problem(403, 'no orders are taken from web pages where no token has to be shown')
    }
    const order = readOrder(request.body)
    await parts.access.order(request, order.verb)
    const promised = await promisedBy(parts, order)
    const by = { who: whoIs(principal, order.claimed), isProven: principal.user !== null }
    const cluster = await clusterIdOf(parts, order)
    const given = async (view?: View): Promise<object> => {
      const answer = await inTurn(() => give(parts, { order, cluster, by, promised, view }))
      return documentOf('DirectiveResult', { answer, partial: '' })
    }
    // What stops, and what takes that back, is given wherever it is asked for: the process that has
    // the cluster may be what fails.
    if (cluster === '' || !RESTS_ON_STATE.has(order.verb)) return await given()
    return await parts.forwarding.answered(request, reply, cluster, given)
  })
}

/**
 * Throws `Problem` where the mode cannot keep it, unless it is to be recorded. Undefined: the mode
 * is not known here, since a partition is elsewhere, is being restored or has not folded all there
 * is. Then the order is taken: one that stops deletes is never refused on a guess.
 */
async function promisedBy(
  { clusters, clock }: DirectiveParts,
  { verb, record }: Order,
): Promise<Promised | undefined> {
  const { modes } = modesIn(clusters)
  // While a policy is still being taken over, the one that acts most counts.
  const acting = (['enforce', 'dry-run'] as const).find((each) => modes.has(each))
  if (acting !== undefined) return PROMISES[verb][acting]
  const observed = PROMISES[verb].observe
  if (observed.isKept) return modes.size === 0 ? undefined : observed
  if (!(await isAllFolded(clusters, clock))) return undefined
  const now = modesIn(clusters)
  if (!now.areAll || [...now.modes].join() !== 'observe') return undefined
  if (record) return observed
  throw new Problem(409, `${observed.says}; to record it for another mode, add --record-anyway`)
}

/** Of the partitions that fold here and have read a policy; `areAll`: those are all there are. */
function modesIn(clusters: DirectiveParts['clusters']): {
  readonly modes: ReadonlySet<Mode>
  readonly areAll: boolean
} {
  const policies = Array.from({ length: clusters.partitions }, (_, partition) => {
    const here = clusters.here(partition)
    if (here?.status().state !== 'folding') return []
    const { policy, position } = policyOf(clusters.readerOf(here))
    return position < 0n ? [] : [policy.mode]
  })
  return { modes: new Set(policies.flat()), areAll: policies.every(({ length }) => length > 0) }
}

/** Waits a moment until each partition has folded what its log holds now: a policy may be in it. */
async function isAllFolded(
  clusters: DirectiveParts['clusters'],
  clock: DirectiveParts['clock'],
): Promise<boolean> {
  const until = clock.monotonicMs() + FOLD_MS
  const ends = Array.from({ length: clusters.partitions }, (_, partition) => {
    const status = clusters.here(partition)?.status()
    return status && status.position + status.lagEntries
  })
  const isFolded = (): boolean =>
    ends.every((end, partition) => {
      const position = clusters.here(partition)?.status().position
      return end !== undefined && position !== undefined && position >= end
    })
  while (!isFolded()) {
    if (clock.monotonicMs() >= until) return false
    await clock.sleep(FOLD_LOOK_MS)
  }
  return true
}

/** `effect` is that of the order where a mode keeps it; `aside` is said in each mode. */
function effectiveIn(promised: Promised | undefined, effect: string, aside: string): string {
  if (promised === undefined) return `${effect}${aside} Which mode is in force is not known here.`
  const { isKept, isIdle, says } = promised
  if (!isKept) return `It is recorded, and has no effect now: ${says}.`
  if (isIdle) return `${says}${aside}`
  return `${effect}${aside}${says === '' ? '' : ` ${says}`}`
}

/** Orders of one cluster that are compared with its state. */
const RESTS_ON_STATE: ReadonlySet<Verb> = new Set([
  ...(['approve', 'reject', 'close-breaker', 'remove-finalizer'] as const),
  ...(['forget-cluster', 'remember-cluster'] as const),
])

/** Nor are they ever about all clusters. */
const OF_ONE: ReadonlySet<Verb> = new Set([
  ...(['approve', 'reject', 'remove-finalizer'] as const),
  ...(['forget-cluster', 'remember-cluster'] as const),
])

/** Reapers obey it before it is on record. */
function isStopping({ verb }: Pick<Order, 'verb'>): boolean {
  return verb === 'pause' || verb === 'protect' || verb === 'suspend-rule'
}

/**
 * A pause and a resume given together must not leave the reapers with one and the fold with the
 * other.
 */
function oneAfterTheOther(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work)
    last = mine.catch(() => undefined)
    return mine
  }
}

interface Asked {
  readonly order: Order
  readonly cluster: ClusterId
  readonly by: Pick<Directive, 'who' | 'isProven'>
  readonly promised: Promised | undefined
  readonly view: View | undefined
}

async function give(
  parts: DirectiveParts,
  { order, cluster, by, promised, view }: Asked,
): Promise<DirectiveAnswer> {
  const { who } = by
  checkRoom(parts, order)
  checkClock(parts, order)
  await checkRule(parts, order)
  const listed = view === undefined ? EMPTY_SET : heldFor(view, order)
  const removed = view === undefined ? '' : removalIn(view, order)
  if (view !== undefined) await checkForgetting(view, order)
  const aside = await asideOf(parts, order, cluster)
  const isFirst = view !== undefined && isFirstOfTwo(view, order, by)
  const event: Directive = {
    type: 'Directive',
    verb: order.verb,
    cluster,
    subject: order.subject,
    digest: order.digest === '' ? null : order.digest,
    listed,
    ...by,
    why: order.why,
  }
  const record = controlOf(order, cluster, who)
  const control = async (): Promise<void> => {
    if (record === undefined) return
    const value = parts.codec.encode(record.record)
    await parts.log.append('orders', 0, [{ key: record.key, value }])
  }
  if (isStopping(order)) await control()
  const offsets = await broadcast(parts, event)
  if (!isStopping(order)) await control()
  // On the log first: who said so is older than all that follows from it.
  if (order.verb === 'confirm-clock') parts.logTime?.confirmWall()
  const folded = await foldedBy(parts, offsets)
  const { verb } = order
  const known = await parts.clusters.all()
  return {
    verb,
    cluster: cluster === '' ? null : clusterRefs(known)(cluster),
    about: removed || aboutOf(order, cluster, known),
    who,
    effective: effectiveIn(
      promised,
      isFirst ? FIRST_OF_TWO : effectOf(order, folded, offsets.length),
      aside,
    ),
    partitions: offsets.length,
    folded,
  }
}

/** Empty for all. A name is that of a cluster that was ever watched. */
async function clusterIdOf(
  { clusters }: DirectiveParts,
  { verb, cluster }: Order,
): Promise<ClusterId> {
  if (cluster === '' && !OF_ONE.has(verb)) return ''
  const known = await clusters.all(cluster === '' ? undefined : cluster)
  const [only, second] = known
  if (cluster === '') {
    if (only !== undefined && second === undefined) return only.id
    throw new Problem(400, `${verb} is about one cluster: name it`)
  }
  const [found, other] = known.filter(({ id, name }) => id === cluster || name === cluster)
  if (found !== undefined && other === undefined) return found.id
  if (found === undefined) refuseUnnamed(known, cluster)
  const names = known.map(({ id, name }) => `${name} (${id})`).join(', ') || 'none yet'
  throw new Problem(
    404,
    `there is no cluster ${cluster}, or several have that name; known clusters: ${names}`,
  )
}

function checkRoom({ clusters }: DirectiveParts, { verb }: Order): void {
  if (verb === 'forget-cluster') {
    const counts = clusters.readers().map((reader) => directivesOf(reader).forgotten.length)
    if (Math.max(0, ...counts) < MOST_FORGOTTEN) return
    throw new Problem(409, `${MOST_FORGOTTEN} orders forget clusters already: take some back`)
  }
  if (verb !== 'protect') return
  const counts = clusters.readers().map((reader) => directivesOf(reader).protections.length)
  if (Math.max(0, ...counts) < MOST_PROTECTED) return
  throw new Problem(
    409,
    `${MOST_PROTECTED} things are protected by name already: take some back, or protect a namespace or label that all of them have`,
  )
}

function checkClock({ logTime }: DirectiveParts, { verb }: Order): void {
  if (verb !== 'confirm-clock') return
  if (logTime === undefined) {
    const why = 'the brokers give the times of this log: set their clocks right'
    throw new Problem(409, `there is no clock to confirm: ${why}`)
  }
  if (logTime.wallAheadMs() >= MOST_AHEAD_MS / 2) return
  throw new Problem(
    409,
    'the clock is not ahead of the time of the log: nothing is to be confirmed',
  )
}

function heldFor(view: View, { verb, digest }: Order): SetHash {
  if (verb !== 'approve' && verb !== 'reject') return EMPTY_SET
  if (view.partial() !== '') {
    const why = `not all that is held could be read: ${view.partial()}; ask again later`
    throw new Problem(503, why)
  }
  const held = approvalSetOf(view)
  if (held.set.count === 0) {
    throw new Problem(
      409,
      'nothing is held for approval there just now: "kinfold held" shows what is held, and why',
    )
  }
  if (held.digest === digest) return held.set
  throw new Problem(
    409,
    `another set is held for approval by now (sha256:${held.digest}): read it with "kinfold plan held${scopeFlag(view.cluster)}", then ${verb} that one`,
  )
}

/** What loses what, in words. Throws `Problem` where the order is refused. */
function removalIn(view: View, { verb, subject, digest }: Order): string {
  const asked = verb === 'remove-finalizer' ? readFinalizerSubject(subject) : undefined
  if (asked === undefined) return ''
  if (view.partial() !== '') throw new Problem(503, `${view.partial()}; ask again later`)
  const node = view.node(asked.uid)
  if (node === undefined) throw new Problem(404, 'that object is not there, or is deleted already')
  const { kind, name } = node.object
  const plan = finalizerPlanOf(view, node, asked.finalizer)
  const refused = plan.refused || plan.paused
  if (refused !== '') throw new Problem(409, `${kind}/${name}: ${refused}`)
  if (plan.digest !== digest) {
    throw new Problem(
      409,
      `${kind}/${name} is another version by now (${plan.resourceVersion}), or the digest is of something else: look at its plan again`,
    )
  }
  return `the finalizer ${asked.finalizer} of ${kind}/${name}`
}

/** Throws `Problem` unless it is as its plan showed it. */
async function checkForgetting(view: View, { verb, subject, digest }: Order): Promise<void> {
  if (verb !== 'forget-cluster') return
  if (view.partial() !== '') throw new Problem(503, `${view.partial()}; ask again later`)
  const part = await forgetPart(view, subject, 0)
  if (part.refused !== '') throw new Problem(409, `cluster ${subject}: ${part.refused}`)
  if (part.digest === digest) return
  throw new Problem(
    409,
    `other objects name owners in cluster ${subject} by now, or the digest is of something else: look at its plan again`,
  )
}

const FIRST_OF_TWO =
  'This is the first of two approvals: nothing is deleted until a second person approves the same within an hour.'

/** Whether another person still has to approve what this one does. */
function isFirstOfTwo(
  view: View,
  { verb }: Order,
  { who, isProven }: Pick<Directive, 'who' | 'isProven'>,
): boolean {
  if (verb !== 'approve' || policyOf(view.reader).policy.approvals < 2) return false
  if (!isProven) {
    throw new Problem(
      403,
      'two people have to approve here, and a cluster has to say who they are: show a token of yours (--http-auth), or have others do it',
    )
  }
  const first = firstApprovalIn(view)
  if (first?.who === who) {
    throw new Problem(409, `${who} has approved it already: another person has to, too`)
  }
  return first === null
}

/** What reapers follow by themselves. */
function controlOf(
  { verb, subject, digest, why }: Order,
  cluster: ClusterId,
  who: string,
): { readonly key: string; readonly record: Control | RuleOrder } | undefined {
  const of = (word: Control['verb']): Control => ({
    type: 'Control',
    verb: word,
    cluster,
    kind: null,
    number: 0,
    connected: false,
    protection: null,
    mode: null,
    who,
    why,
  })
  switch (verb) {
    case 'pause':
    case 'resume':
      return { key: pauseKey(cluster), record: of(verb) }
    case 'protect':
    case 'unprotect':
      return { key: protectKey(cluster, subject), record: of(verb) }
    case 'enforce-rule':
    case 'suspend-rule': {
      // Of a suspension the digest is empty.
      const record: RuleOrder = { type: 'RuleOrder', name: subject, digest, who, why }
      return { key: ruleOrderKey(subject), record }
    }
    case 'approve':
    case 'reject':
    case 'close-breaker':
    case 'remove-finalizer':
    case 'forget-cluster':
    case 'remember-cluster':
    case 'confirm-clock':
      return undefined
  }
}

/**
 * To all partitions, also what is about one cluster: one that comes later may be in any, and
 * `orders` is repeated from what any one of them holds (order-keeper.ts). Answers with the offset
 * of each after which it is folded.
 */
async function broadcast(
  { log, codec }: DirectiveParts,
  event: Directive,
): Promise<readonly bigint[]> {
  const partitions = Array.from({ length: log.partitions('events') }, (_, each) => each)
  return await giveOrder(log, codec, event, partitions)
}

async function foldedBy(
  { clusters, clock }: DirectiveParts,
  offsets: readonly bigint[],
): Promise<number> {
  const until = clock.monotonicMs() + FOLD_MS
  for (;;) {
    const mine = offsets.flatMap((offset, partition) => {
      const position = clusters.here(partition)?.status().position
      return position === undefined ? [] : [position > offset]
    })
    const folded = mine.filter((isFolded) => isFolded).length
    if (folded === mine.length || clock.monotonicMs() >= until) return folded
    await clock.sleep(FOLD_LOOK_MS)
  }
}

/** Clusters that an answer names where it is about all. */
const MOST_NAMED = 8

function aboutOf(
  { verb, subject }: Order,
  cluster: ClusterId,
  known: readonly KnownCluster[],
): string {
  const refOf = clusterRefs(known)
  const names = known.slice(0, MOST_NAMED).map(({ id }) => labelOf(refOf(id)))
  const more = known.length > names.length ? [`${known.length - names.length} more`] : []
  const all = names.length === 0 ? '' : ` (${[...names, ...more].join(', ')})`
  const where = cluster === '' ? `all clusters${all}` : `cluster ${labelOf(refOf(cluster))}`
  switch (verb) {
    case 'pause':
    case 'resume':
      return where
    case 'protect':
    case 'unprotect':
      return `${subject} in ${where}`
    case 'approve':
    case 'reject':
      return `what is held for approval in ${where}`
    case 'close-breaker':
      return `the breakers of ${where}`
    case 'enforce-rule':
    case 'suspend-rule':
      return `rule ${subject} in ${where}`
    case 'remove-finalizer':
      return `a finalizer of one object in ${where}`
    case 'forget-cluster':
    case 'remember-cluster':
      return `cluster ${labelOf(refOf(subject))} as one of owners of objects in ${where}`
    case 'confirm-clock':
      return 'that the clock of this machine is right'
  }
}

function effectOf({ verb }: Order, folded: number, partitions: number): string {
  const fold = `Confirmed by ${folded} of ${partitions} ${partitions === 1 ? 'partition' : 'partitions'}.`
  switch (verb) {
    case 'pause':
      return `No new deletes or updates from 2 s from now. ${fold}`
    case 'protect':
      return `No new deletes of it from 2 s from now. ${fold}`
    case 'approve':
      return `What it releases is judged again now, and deleted once its owners are verified. ${fold}`
    case 'reject':
      return `It is kept. ${fold}`
    case 'remove-finalizer':
      return `One call is sent now; the history of the object has its result. ${fold}`
    case 'forget-cluster':
      return `No object there is due by an owner in it any more: all of them stay. ${fold}`
    case 'remember-cluster':
      return `What is due by an owner in it waits anew, for an hour at least. ${fold}`
    case 'confirm-clock':
      return `The time of the log follows it from now on, and holds that are over by it end. ${fold}`
    case 'enforce-rule':
      return `What is due by it is judged again now, and deleted (or annotated, where the rule says so) unless something else holds it. ${fold}`
    case 'suspend-rule':
      return `No new deletes by it from 2 s from now: it is in dry run. ${fold}`
    case 'unprotect':
      return `With preset guarded it lasts ten minutes more, with parity it ends now; what it releases is judged again then. ${fold}`
    case 'resume':
    case 'close-breaker':
      return `What it releases is judged again now. ${fold}`
  }
}
