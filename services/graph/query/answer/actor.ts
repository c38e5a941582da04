/**
 * Who asked for a deletion, as the audit log of its cluster says, and how certain it is that the
 * request was this one.
 *
 * What must stay true: it is shown, and no decision depends on it. An answer says how the request
 * was found: by Audit-ID or by uid it is this object's; by name and time, or by collection and
 * time, it is a guess, and is called one. A request that says another uid is of another object.
 *
 * Not here: where requests are kept (actor-index.ts), which of them are (actors/audit-event.ts),
 * who may see it (question.ts).
 */
import type { Phase } from '../../../../core/model/node.ts'
import type { History } from '../../../../core/model/record.ts'
import { timeText } from '../../../../core/model/text.ts'
import type { Actor } from '../../../../ports/record/service-record.ts'
import type { Unshaped } from '../../api/document.ts'
import type {
  DeletedBy as AnsweredDeletedBy,
  Deletion as AnsweredDeletion,
  Deleter,
} from '../../api/part-schema.ts'
import type { ActorDoubts } from '../index/actor-doubt.ts'
import type { ActorIndex } from '../index/actor-index.ts'
import { type About, LAST_MS, type Span } from '../index/actor-key.ts'
import type { Named } from '../index/history-index.ts'
import type { Clusters } from '../view/clusters.ts'

/**
 * - `audit-id`: it has the id of a command about this very object.
 * - `uid`: the audit log says the uid.
 * - `name-and-time`: it was about that name, and answered within
 * seconds of the deletion. - `collection-and-time`: about all of its kind in its namespace, the
 * same way.
 */
export const ACTOR_MATCHES = ['audit-id', 'uid', 'name-and-time', 'collection-and-time'] as const

export type ActorMatch = (typeof ACTOR_MATCHES)[number]

export interface FoundActor extends Unshaped<Deleter> {
  readonly at: number
}

/** Whose deletion was asked for, and by whom. */
export type DeletedBy = FoundActor & Unshaped<AnsweredDeletedBy>

export interface ActorParts {
  readonly actors: Pick<ActorIndex, 'requests' | 'gaps' | 'keptSince'>
  /** What was cut on the way. */
  readonly doubts: ActorDoubts
  readonly clusters: Pick<Clusters, 'resourceOf'>
  /** Whether a gap may name the user whose requests it lacks. */
  readonly isUserShown?: boolean
  /** Of an object whose user is unknown: what may be shown to who may know of it. */
  readonly onUnproven?: (unproven: Unproven) => void
}

/** As it was, with its cluster. */
export type DeletedObject = Pick<Named, 'cluster' | 'group' | 'kind' | 'namespace' | 'name' | 'uid'>

/**
 * How far the clocks of API server and log, and what lies between a deletion and its record, may be
 * apart in a guess.
 */
const SLACK_MS = 5_000
/** How far clocks that are in order are apart, with what lies in between. */
const CLOCK_MS = 1_000
/** Requests that are certain are searched from so long before the first sign of the deletion on. */
const BEFORE_MS = 3_600_000
/** An API server answers the deletion of a collection no later. */
const LONGEST_REQUEST_MS = 60_000

/** One life of an object: a uid comes again where a cluster was restored from a backup. */
export interface KnownLife {
  /** All that is known of it, in order. */
  readonly history: readonly History[]
  /** Append time of the end of the one before it; zero where there was none. */
  readonly after: number
  /** The deletionTimestamp that it had when a watch first reported one; null where none did. */
  readonly deletedAt: number | null
  /**
   * Append time of the last sign of life before nothing was seen of the cluster, where the watch
   * reported its end late: it ended since then. Null: at once, as far as is known.
   */
  readonly unseenSince: number | null
  /** By its API server; null where it is unknown. */
  readonly createdAt: number | null
}

/** A request that has its name, and that nothing proves to be about it. */
export type Unproven = NonNullable<Unshaped<AnsweredDeletion>['unproven']>

/**
 * Of a life that is over, or whose deletion has begun. Null where it is unknown: no request fits.
 */
export async function actorOf(
  parts: ActorParts,
  object: DeletedObject,
  life: KnownLife,
): Promise<FoundActor | null> {
  const { found, unproven } = await requestFor(parts, object, life)
  if (found === undefined) noteUnproven(parts, object, life, unproven)
  return found ?? null
}

/** What is known of the name alone is no answer, and is not nothing either. */
function noteUnproven(
  { doubts, isUserShown = true, onUnproven }: ActorParts,
  { kind, name }: DeletedObject,
  { deletedAt }: KnownLife,
  unproven: readonly Actor[],
): void {
  const last = unproven.findLast(({ mayBeDryRun }) => !mayBeDryRun)
  if (last === undefined || !isUserShown) return
  const { user, impersonated, at } = last
  const who = `${plain(user)}${impersonated === null ? '' : ` as ${plain(impersonated)}`}`
  doubts.other(
    `${who} asked to delete a ${kind} of the name ${plain(name)} at ${timeText(at)}, and nothing proves that it was this one`,
  )
  // One that came after its deletion had begun asked for it again.
  const before = (deletedAt ?? LAST_MS) + SLACK_MS
  const fit = unproven.filter((each) => !each.mayBeDryRun && each.from <= before)
  const asked = fit.at(-1)
  if (asked === undefined) return
  const others = new Set(fit.filter((each) => isOther(each, asked)).map(asWhom)).size
  onUnproven?.(unprovenOf(asked, others))
}

function unprovenOf({ user, impersonated, agent, at }: Actor, others: number): Unproven {
  return { user, impersonated, agent, others, at }
}

function asWhom({ user, impersonated }: Actor): string {
  return JSON.stringify([user, impersonated])
}

/** A name that a user chose, in a line of text: nothing in it ends that, or steers a terminal. */
function plain(name: string): string {
  if (/^[\w@.:/#+=~|-]+$/.test(name)) return name
  const escaped = (each: string): string => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(name).replace(/[^ -~]/g, escaped)
}

interface Requests {
  readonly found: FoundActor | undefined
  /** Those that have its name and no uid, and came before its end, in order. */
  readonly unproven: readonly Actor[]
}

async function requestFor(
  parts: ActorParts,
  object: DeletedObject,
  life: KnownLife,
): Promise<Requests> {
  const { history, after, unseenSince } = life
  const sign = signOf(life)
  const begun = sign === undefined ? undefined : Math.min(sign, unseenSince ?? sign)
  const since = Math.max(after, begun === undefined ? 0 : begun - BEFORE_MS)
  const until = sign === undefined ? LAST_MS : sign + SLACK_MS + LONGEST_REQUEST_MS
  const about = { ...object, resource: await parts.clusters.resourceOf(object) }
  const named = await requestsAbout(parts, about, { since, until })
  const latest = (sign ?? LAST_MS) + CLOCK_MS
  // What had its name before it is another object.
  const earliest = (life.createdAt ?? 0) - CLOCK_MS
  const unproven = named.filter((each) => {
    const isWithin = each.at >= earliest && each.from <= latest
    return each.uid === null && each.resource === about.resource && isWithin
  })
  const none = { found: undefined, unproven }
  const commands = new Set(history.flatMap(({ command }) => command ?? []))
  // A command that was a dry run deleted nothing, also if the object was deleted later.
  const ours = named.find((each) => commands.has(each.auditId) && !each.mayBeDryRun)
  if (ours !== undefined) return { found: answerOf(ours, 'audit-id', 0), unproven }
  await noteGaps(parts, object, { since: begun === undefined ? since : begun - SLACK_MS, until })
  const kept = parts.actors.keptSince()
  const moment = begun ?? history.at(-1)?.at ?? 0
  if (moment < kept) {
    parts.doubts.other(`names of deletions before ${timeText(kept)} are not kept any more`)
  }
  const certain = certainOf(named, object, begun, sign)
  const missed = sign === undefined && certain === undefined ? missedBetween(life) : undefined
  const [from, to] = missed ?? [begun ?? certain?.at, sign ?? certain?.at]
  if (from === undefined || to === undefined) return none
  const span = sign === undefined && missed === undefined ? BEFORE_MS : SLACK_MS
  const collections = await requestsAbout(
    parts,
    { ...about, name: '', uid: '' },
    {
      since: Math.max(after, from - span - LONGEST_REQUEST_MS),
      until: to + span + LONGEST_REQUEST_MS,
    },
  )
  const all = [...named, ...collections].filter((each) => {
    return each.resource === about.resource && distanceOf(each, from, to) <= span
  })
  if (certain !== undefined && !all.some((each) => mayBeInstead(each, certain))) {
    return { found: answerOf(certain, 'uid', 0), unproven }
  }
  if (missed !== undefined) return { found: onlyOne(all), unproven }
  if (sign === undefined) return none
  return { found: from < to ? onlyOne(all) : guess(all, sign), unproven }
}

/**
 * Of one that a list did not have any more: it was deleted after it was seen for the last time, and
 * before that list. Undefined of any other.
 */
function missedBetween({ history, unseenSince }: KnownLife): [number, number] | undefined {
  const end = history.find(({ change }) => change === 'gone')
  if (end?.evidence !== 'missing') return undefined
  const seen = history.slice(0, history.indexOf(end)).findLast(({ change }) => SEEN.has(change))
  const from = unseenSince ?? seen?.at
  // Being deleted by then, it was asked for earlier.
  return from === undefined || BEGUN.has(seen?.phase ?? null) ? undefined : [from, end.at]
}

const SEEN: ReadonlySet<string> = new Set(['created', 'references', 'phase'])

/** Whose uid is that of the object, in time: the one that began its deletion, by what it says. */
function certainOf(
  named: readonly Actor[],
  { uid }: DeletedObject,
  begun: number | undefined,
  sign: number | undefined,
): Actor | undefined {
  // One that came later found it being deleted, as a kubelet's at the end of the grace period does.
  const isInTime = ({ from }: Actor): boolean => sign === undefined || from <= sign + CLOCK_MS
  const its = named.filter((each) => each.uid === uid && !each.mayBeDryRun && isInTime(each))
  // Dry runs may come before, and at level Metadata they cannot be distinguished: the last request
  // removed it.
  return (
    its.find(({ isBodyKnown }) => isBodyKnown) ??
    its.findLast((each) => {
      return begun === undefined || sign === undefined || distanceOf(each, begun, sign) <= SLACK_MS
    })
  )
}

/**
 * An eviction, or a delete of the collection, says no uid, and a delete that says it may follow.
 * Where that may be a dry run, any other one may have deleted it, also one that came later.
 */
function mayBeInstead(each: Actor, certain: Actor): boolean {
  return isOther(each, certain) && (each.at < certain.at || !certain.isBodyKnown)
}

/** The first one first. */
async function requestsAbout(
  { actors, doubts, isUserShown = true }: ActorParts,
  about: About,
  span: Span,
): Promise<readonly Actor[]> {
  const { found, isCut } = await actors.requests(about, span)
  if (isCut) {
    // Who may know of an object may not know of each of its owners.
    const what = isUserShown
      ? `${about.resource ?? about.group} ${[about.namespace, about.name].join('/')}`
      : 'one of its owners'
    doubts.other(
      `more requests were about ${what} than are read: who deleted it may be another one`,
    )
  }
  return found.toSorted((a, b) => a.at - b.at)
}

async function noteGaps(
  { actors, doubts, isUserShown = true }: ActorParts,
  object: DeletedObject,
  span: Span,
): Promise<void> {
  const { found, isCut } = await actors.gaps(object, span)
  for (const gap of found) doubts.gap(gap, isUserShown)
  if (isCut) doubts.other('there are more times of which names are incomplete')
}

/** The time is unknown, so no request is nearer: one of a client on which all that fit agree. */
function onlyOne(found: readonly Actor[]): FoundActor | undefined {
  const [first, ...rest] = askingIn(found)
  if (first === undefined) return undefined
  const isSame = rest.every((each) => !isOther(each, first) && each.agent === first.agent)
  return isSame ? answerOf(first, guessOf(first), 0) : undefined
}

/**
 * The nearest in time; among those that are as near as clocks say, one about its name.
 */
function guess(found: readonly Actor[], sign: number): FoundActor | undefined {
  const all = askingIn(found)
  const seconds = (each: Actor): number => Math.floor(distanceOf(each, sign, sign) / CLOCK_MS)
  const rank = ({ name }: Actor): number => (name === '' ? 1 : 0)
  const [nearest] = all.toSorted((a, b) => {
    const near = seconds(a) - seconds(b) || rank(a) - rank(b)
    return near || distanceOf(a, sign, sign) - distanceOf(b, sign, sign)
  })
  if (nearest === undefined) return undefined
  return answerOf(nearest, guessOf(nearest), all.filter((each) => isOther(each, nearest)).length)
}

function guessOf({ name }: Actor): ActorMatch {
  return name === '' ? 'collection-and-time' : 'name-and-time'
}

/**
 * A kubelet ends pods that others asked to delete, so its requests count where there is no other.
 */
function askingIn(found: readonly Actor[]): readonly Actor[] {
  const asking = found.filter((each) => !isKubelet(each))
  return asking.length === 0 ? found : asking
}

function isKubelet({ user, group, resource }: Actor): boolean {
  return user.startsWith('system:node:') && group === '' && resource === 'pods'
}

function isOther(a: Actor, b: Actor): boolean {
  return a.user !== b.user || a.impersonated !== b.impersonated
}

function answerOf(actor: Actor, match: ActorMatch, others: number): FoundActor {
  const { user, impersonated, agent, verb, auditId, at } = actor
  const isCollector = user === COLLECTOR || /[/:]generic-garbage-collector$/.test(agent)
  return { user, impersonated, agent, isCollector, verb, match, others, auditId, at }
}

export const COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector'

/** It deletes what is in namespaces that are being deleted, and nothing else. */
export function isNamespaceController({ user, agent }: Pick<Actor, 'user' | 'agent'>): boolean {
  return user === NAMESPACE_CONTROLLER || /[/:]namespace-controller$/.test(agent)
}

const NAMESPACE_CONTROLLER = 'system:serviceaccount:kube-system:namespace-controller'

/** Of the request from a time that is known to lie between two; zero where they may be one. */
function distanceOf({ from, at }: Actor, first: number, last: number): number {
  return Math.max(from - last, first - at, 0)
}

/** Its deletion has begun. */
export const BEGUN: ReadonlySet<Phase | null> = new Set(['deleting', 'waiting', 'orphaning'])

/**
 * When a watch showed that it was deleted, or is being deleted, in log time. Undefined where only a
 * list or a GET did, or a watch that lagged: that says nothing of the time. A deletionTimestamp is
 * never before the request, except for parts of a second.
 */
function signOf({ history, deletedAt }: KnownLife): number | undefined {
  const isGone = ({ change, evidence }: History): boolean =>
    change === 'gone' && evidence === 'deleted'
  if (history.some(({ change, phase }) => change === 'created' && BEGUN.has(phase))) {
    return undefined
  }
  const begun = history.find(isBegin)
  if (begun === undefined) return history.find(isGone)?.at
  const { at } = begun
  return deletedAt !== null && deletedAt + SLACK_MS < at ? undefined : at
}

/** A watch reported that its deletion has begun. */
export function isBegin({ phase, change }: History): boolean {
  return change === 'phase' && BEGUN.has(phase)
}
