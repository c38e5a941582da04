/**
 * Who asked for a deletion, as the audit log of its cluster says, and how certain it is that the request was this one.
 *
 * What must stay true: it is told and never decided by. An answer says how the request was found: by Audit-ID or by uid it is this object's; by name and time, or by
 * collection and time, it is a guess, and is called one. A request that says another uid is of another object.
 *
 * Not here: where requests are kept (actor-index.ts), which of them are (actors/audit-event.ts), who may see it (question.ts).
 */
import type { Phase } from '../../../core/model/node.ts'
import type { History } from '../../../core/model/record.ts'
import type { Actor } from '../../../ports/service-record.ts'
import type { ActorIndex } from './actor-index.ts'
import type { Clusters } from './clusters.ts'
import type { HistoryIndex, Named } from './history-index.ts'

/**
 * - `audit-id`: it has the id of a command about this very object. - `uid`: the audit log says the uid. - `name-and-time`: it was about that name, and answered within
 * seconds of the deletion. - `collection-and-time`: about all of its kind in its namespace, the same way.
 */
export const ACTOR_MATCHES = ['audit-id', 'uid', 'name-and-time', 'collection-and-time'] as const

export type ActorMatch = (typeof ACTOR_MATCHES)[number]

export interface FoundActor extends Pick<Actor, 'user' | 'impersonated' | 'agent' | 'verb'> {
  readonly match: ActorMatch
  /** Of a guess: requests of other users that fit as well. */
  readonly others: number
  readonly auditId: string
  /** When the request was answered, by the clock of the API server, in milliseconds. */
  readonly at: number
}

/** Whose deletion was asked for, and by whom. */
export interface DeletedBy extends FoundActor {
  readonly object: Pick<Named, 'group' | 'kind' | 'namespace' | 'name' | 'uid'>
}

export interface ActorParts {
  readonly actors: Pick<ActorIndex, 'ofName' | 'ofCollection'>
  readonly clusters: Pick<Clusters, 'resourceOf'>
}

/** As it was, with its cluster. */
export type DeletedObject = Pick<Named, 'cluster' | 'group' | 'kind' | 'namespace' | 'name' | 'uid'>

/** How far the clocks of API server and log, and what lies between a deletion and its record, may be apart in a guess. */
const SLACK_MS = 5_000
/** What is certain is looked for from so long before the first sign of the deletion on. */
const BEFORE_MS = 3_600_000
/** An API server answers the deletion of a collection no later. */
const LONGEST_REQUEST_MS = 60_000
/** Owners of owners that an answer goes up to, and objects that it names. */
const MOST_LOOKED_UP = 16

/**
 * `history`: all that is known of this life; `isGone`: it is over. Null where nobody can say: the object exists, or no request fits.
 */
export async function actorOf(
  parts: ActorParts,
  life: DeletedObject,
  history: readonly History[],
  isGone: boolean,
): Promise<FoundActor | null> {
  const sign = signOf(history)
  if (!isGone && sign === undefined) return null
  return (await requestFor(parts, life, history, sign)) ?? null
}

/** Of the object, and of those of its owners that are deleted: who asked for each, the object first. Above one that somebody else deleted nothing is looked for. */
export async function deletersOf(
  parts: ActorParts & { readonly index: Pick<HistoryIndex, 'history' | 'lastOf'> },
  object: Named,
): Promise<readonly DeletedBy[]> {
  const { index } = parts
  const found: DeletedBy[] = []
  const seen = new Set<string>()
  const left = [object]
  for (let life = left.shift(); life !== undefined; life = left.shift()) {
    if (seen.has(life.uid) || seen.size >= MOST_LOOKED_UP) continue
    seen.add(life.uid)
    const history = await index.history(life.cluster, life.uid)
    const last = index.lastOf(life.cluster, life.uid)
    const actor = await actorOf(parts, life, history, last?.isGone === true)
    const { cluster, group, kind, namespace, name, uid } = life
    if (actor !== null) found.push({ object: { group, kind, namespace, name, uid }, ...actor })
    // Ours, or nobody knows whose: it may be because of an owner.
    if (actor !== null && actor.match !== 'audit-id') continue
    left.push(...(last?.owners ?? []).flatMap((owner) => goneOwner(index, cluster, owner)))
  }
  return found
}

function goneOwner(
  index: Pick<HistoryIndex, 'lastOf'>,
  cluster: string,
  uid: string,
): readonly Named[] {
  const owner = index.lastOf(cluster, uid)
  return owner?.isGone === true ? [owner] : []
}

async function requestFor(
  { actors, clusters }: ActorParts,
  life: DeletedObject,
  history: readonly History[],
  sign: number | undefined,
): Promise<FoundActor | undefined> {
  const since = sign === undefined ? 0 : sign - BEFORE_MS
  const named = (await actors.ofName(life, since)).filter(({ group }) => group === life.group)
  const commands = new Set(history.flatMap(({ command }) => command ?? []))
  // A command that was a dry run deleted nothing, whoever deleted it later.
  const isOurs = (each: Actor): boolean => commands.has(each.auditId) && !each.mayBeDryRun
  const certain = named.find((each) => isOurs(each) || each.uid === life.uid)
  if (certain !== undefined) return answerOf(certain, isOurs(certain) ? 'audit-id' : 'uid', 0)
  const resource = sign === undefined ? undefined : await clusters.resourceOf(life)
  if (sign === undefined || resource === undefined) return undefined
  const fits = (each: Actor): boolean =>
    each.uid === null && each.resource === resource && distanceOf(each, sign) <= SLACK_MS
  const byName = guess(named.filter(fits), sign, 'name-and-time')
  if (byName !== undefined) return byName
  const collections = await actors.ofCollection(life, sign - SLACK_MS - LONGEST_REQUEST_MS)
  const ofKind = collections.filter((each) => each.group === life.group && fits(each))
  return guess(ofKind, sign, 'collection-and-time')
}

/** The nearest in time. */
function guess(all: readonly Actor[], sign: number, match: ActorMatch): FoundActor | undefined {
  const [nearest] = [...all].sort((a, b) => distanceOf(a, sign) - distanceOf(b, sign))
  if (nearest === undefined) return undefined
  const others = all.filter(({ user }) => user !== nearest.user).length
  return answerOf(nearest, match, others)
}

function answerOf(actor: Actor, match: ActorMatch, others: number): FoundActor {
  const { user, impersonated, agent, verb, auditId, at } = actor
  return { user, impersonated, agent, verb, match, others, auditId, at }
}

/** Zero within the request. */
function distanceOf({ from, at }: Actor, time: number): number {
  return Math.max(from - time, time - at, 0)
}

const BEGUN: ReadonlySet<Phase | null> = new Set(['deleting', 'waiting', 'orphaning'])

/** When a watch showed that it was deleted, or is being deleted, in log time. Undefined where only a list or a GET did: that says nothing of the time. */
function signOf(history: readonly History[]): number | undefined {
  const isBegun = ({ phase, change }: History): boolean => change === 'phase' && BEGUN.has(phase)
  const isGone = ({ change, evidence }: History): boolean =>
    change === 'gone' && evidence === 'deleted'
  const begun = history.find(({ change, phase }) => change === 'created' && BEGUN.has(phase))
  if (begun !== undefined) return undefined
  return (history.find(isBegun) ?? history.find(isGone))?.at
}
