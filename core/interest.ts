/**
 * Owners and their dependents in other partitions: a cluster-scoped owner's home keeps what the others said of their dependents, and the others keep
 * what it said of the owner.
 *
 * What must stay true: counts are absolute, so a repeat does no harm; only an answer to the state told last counts, so nothing is let go on old
 * news. A partition that has no dependents of an owner knows nothing of it.
 *
 * Not here: what the counts mean (completion.ts), what becomes of dependents (judge.ts).
 */
import { judgeDependents, ownerTimer } from './agenda.ts'
import { mayBeTakenBack, unfitness } from './completion.ts'
import { BACKOFF_LAST_MS, OWNER_RETRY_LAST_MS, OWNER_RETRY_MS } from './constant.ts'
import type { OwnerInterest, OwnerState } from './event.ts'
import { clusterOf, countAt, dependentsOf, interestOf, kindOf, nodeOf, ownerOf } from './graph.ts'
import { judge } from './judge.ts'
import { interestKey, ownerKey } from './key.ts'
import type { ClusterId, Coordinates, Uid } from './object.ts'
import { isSamePlace } from './object.ts'
import type { OwnerAbout, Step } from './outcome.ts'
import { drop } from './outcome.ts'
import { homeOf, isHome, partitionOf } from './partition.ts'
import { ownerAt } from './standing.ts'
import type { Interest, Owner } from './state.ts'
import { UNKNOWN_OWNER, verifyOwner } from './verification.ts'

/** What is known of an owner has changed: its dependents are judged again, wherever they are. */
export function ownerChanged(step: Step, cluster: ClusterId, uid: Uid, place: Coordinates): void {
  if (dependentsOf(step.graph, cluster, uid) > 0) judgeDependents(step, cluster, uid)
  const isShared = step.at.partitions > 1 && place.namespace === ''
  if (isShared && isHome(step.at, cluster, place)) tellOthers(step, cluster, uid, place)
}

/** After each record: owners that may have nothing left to wait for, and homes that have to hear of their first or last dependent here. */
export function tellOwners(step: Step): void {
  // Judging one may change what another one waits for: that is news of its own.
  while (step.owners.size > 0) {
    const changes = [...step.owners.values()]
    step.owners.clear()
    for (const change of changes) {
      const { cluster, uid, place, asks } = change
      if (!isHome(step.at, cluster, place)) {
        if (asks) ask(step, change)
        else sendInterest(step, change)
      } else if (isFinishing(step, change)) judge(step, cluster, uid)
    }
  }
}

/** Asks the home whether the owner is there, unless that has been asked; the timer lets it be asked again. */
function ask(step: Step, about: OwnerAbout): void {
  const { cluster, uid, place } = about
  const state = clusterOf(step.graph, cluster)
  const former = ownerOf(step.graph, cluster, uid, place)
  const isAsked = former !== undefined && former.checks > 0
  if (isAsked || state === undefined) return
  step.graph.put(ownerKey(cluster, uid, place), { ...(former ?? UNKNOWN_OWNER), checks: 1 })
  ownerTimer(step, cluster, state.now + BACKOFF_LAST_MS, uid, place)
  sendInterest(step, about, true)
}

/** The timer of an owner whose home is another partition: what is owed to that home, and what was asked of it, is looked at again. */
export function replicaDue(step: Step, about: OwnerAbout): void {
  const { cluster, uid, place } = about
  const replica = ownerOf(step.graph, cluster, uid, place)
  const epochAt = clusterOf(step.graph, cluster)?.epochAt ?? 0n
  // Of an earlier epoch: it says nothing any more.
  const isVoid = replica !== undefined && replica.position < epochAt
  if (replica?.state !== 'unknown' && !isVoid) return answerHome(step, about)
  step.graph.remove(ownerKey(cluster, uid, place))
  if (dependentsOf(step.graph, cluster, uid) > 0) judgeDependents(step, cluster, uid)
}

function isFinishing(step: Step, { cluster, uid, place }: OwnerAbout): boolean {
  const node = nodeOf(step.graph, cluster, uid)
  if (node === undefined || !isSamePlace(node.object, place)) return false
  return node.phase === 'waiting' || node.phase === 'orphaning'
}

/** At the home: tells the state when it is another one, those who have dependents or, when dependents are waited for, all. */
function tellOthers(step: Step, cluster: ClusterId, uid: Uid, place: Coordinates): void {
  const interest = interestOf(step.graph, cluster, uid, place)
  const state = stateOf(step, cluster, uid, place)
  const isAwaited = state === 'waiting' || state === 'orphaning'
  if (interest === undefined && !isAwaited) return
  const told = toldOf(step, cluster, state)
  if (interest?.told === told) return
  const seq = Number(step.at.position)
  const places = interest?.places ?? []
  const { partition: home, partitions } = step.at
  for (let partition = 0; partition < partitions; partition++) {
    const hasSome = places.some((each) => each.partition === partition && each.dependents > 0)
    if (partition !== home && (isAwaited || hasSome))
      tell(step, { cluster, uid, place }, partition, seq)
  }
  // Who has none left and is not waited for has said all there is to say.
  const kept = places.filter(({ dependents }) => isAwaited || dependents > 0)
  const next = { ...NO_INTEREST, told, seq, others: partitions - 1, places: kept }
  putInterest(step, { cluster, uid, place }, next)
}

/**
 * At the home, to one partition that may have missed it. What was told in another epoch of the cluster is told anew to all. What is waited for, and was told before
 * something could not be read here, is told under a new number: an answer may have been taken back since.
 */
export function tellOwnerAgain(
  step: Step,
  about: OwnerAbout,
  interest: Interest,
  to: number,
): void {
  const { cluster, uid, place } = about
  const { told, places } = interest
  const isSame = told === toldOf(step, cluster, stateOf(step, cluster, uid, place))
  if (!isSame) return tellOthers(step, cluster, uid, place)
  const isAwaited = isAwaitedState(told)
  if (!isAwaited && !places.some((each) => each.partition === to && each.dependents > 0)) return
  const isDoubted = isAwaited && mayBeTakenBack(step.graph, cluster, interest)
  const seq = isDoubted ? Number(step.at.position) : interest.seq
  if (isDoubted) putInterest(step, about, { ...interest, seq })
  tell(step, about, to, seq)
}

const NO_INTEREST: Interest = { type: 'Interest', told: '', seq: 0, others: 0, places: [] }

/** An epoch's proofs are void in the next one, so there it is told again. */
function toldOf(step: Step, cluster: ClusterId, state: OwnerState['state']): string {
  return `${state} in epoch ${clusterOf(step.graph, cluster)?.clusterEpoch ?? 0}`
}

function stateOf(
  step: Step,
  cluster: ClusterId,
  uid: Uid,
  place: Coordinates,
): OwnerState['state'] {
  const owner = ownerAt(step.graph, cluster, uid, place)
  switch (owner.phase) {
    case 'absent':
      return 'absent'
    case 'unknown':
    case 'suspect':
      return 'unknown'
    case 'orphaning':
      return 'orphaning'
    case 'waiting':
      return owner.orphanedAt === null ? 'waiting' : 'orphaning'
    case 'observed':
    case 'deleting':
    case 'reaped':
      return owner.orphanedAt === null ? 'present' : 'orphaning'
  }
}

function tell(
  step: Step,
  { cluster, uid, place }: OwnerAbout,
  partition: number,
  seq: number,
): void {
  const { group, kind, namespace, name } = place
  const { proof, orphanedAt } = ownerAt(step.graph, cluster, uid, place)
  step.outcome.notes.push({
    partition,
    key: homeOf(cluster, namespace),
    event: {
      type: 'OwnerState',
      cluster,
      clusterEpoch: clusterOf(step.graph, cluster)?.clusterEpoch ?? 0,
      owner: { group, kind, namespace, name },
      uid,
      state: stateOf(step, cluster, uid, place),
      proof,
      orphanedAt,
      seq,
    },
  })
}

function putInterest(step: Step, { cluster, uid, place }: OwnerAbout, interest: Interest): void {
  const key = interestKey(cluster, uid, place)
  const isAwaited = isAwaitedState(interest.told)
  if (interest.places.length > 0 || isAwaited) step.graph.put(key, interest)
  else if (step.graph.get(key) !== undefined) step.graph.remove(key)
}

function isAwaitedState(told: string): boolean {
  return told.startsWith('waiting') || told.startsWith('orphaning')
}

/** At the home: what another partition says of its dependents. */
export function ownerInterest(step: Step, event: OwnerInterest): void {
  const { cluster, uid, owner: place, partition, dependents, blocking, answers, asks } = event
  const state = clusterOf(step.graph, cluster)
  if (state === undefined) return drop(step, 'its watcher has not started')
  const about = { cluster, uid, place }
  const former = interestOf(step.graph, cluster, uid, place) ?? NO_INTEREST
  // An answer to what is not asked any more says no more than its counts.
  const isAnswer = answers !== null && answers === former.seq && isAwaitedState(former.told)
  const isOver = dependents === 0 && !isAnswer
  const others = former.places.filter((each) => each.partition !== partition)
  const entry = { partition, dependents, blocking, answers: isAnswer ? answers : null }
  const isUnknown = stateOf(step, cluster, uid, place) === 'unknown'
  const interest = {
    ...former,
    // What was told and is known no more has to be told again when it is.
    told: isUnknown ? '' : former.told,
    places: isOver ? others : [...others, entry],
  }
  putInterest(step, about, interest)
  if (dependents > 0 && !isAnswer) {
    if (!isUnknown) answer(step, about, partition, interest)
    // What it answers is so no more. It was not told: it had no dependents when that changed.
    else if (answers !== null) tell(step, about, partition, Number(step.at.position))
    else if (asks) look(step, about)
  }
  if (isFinishing(step, about)) judge(step, cluster, uid)
}

function answer(step: Step, about: OwnerAbout, partition: number, interest: Interest): void {
  const { cluster, uid, place } = about
  const state = stateOf(step, cluster, uid, place)
  const isNew = interest.told !== toldOf(step, cluster, state)
  const seq = isNew ? Number(step.at.position) : interest.seq
  if (isNew) {
    const { partitions } = step.at
    putInterest(step, about, {
      ...interest,
      told: toldOf(step, cluster, state),
      seq,
      others: partitions - 1,
    })
  }
  tell(step, { cluster, uid, place }, partition, seq)
}

/** Nothing is known of an owner that has dependents elsewhere only: asks for it, or soon again. */
export function look(step: Step, { cluster, uid, place }: OwnerAbout): void {
  const state = clusterOf(step.graph, cluster)
  const kind = kindOf(step.graph, cluster, place)
  const node = nodeOf(step.graph, cluster, uid)
  // One in doubt is settled by a relist; one in another place says nothing of this one.
  const isHere = node !== undefined && isSamePlace(node.object, place)
  if (state === undefined || isHere) return
  const version = kind?.versions[0] ?? ''
  if (verifyOwner(step, state, cluster, place, uid, version)) return
  const owner = ownerOf(step.graph, cluster, uid, place)
  const checks = (owner?.checks ?? 0) + 1
  step.graph.put(ownerKey(cluster, uid, place), { ...(owner ?? UNKNOWN_OWNER), checks })
  const waitMs = Math.min(OWNER_RETRY_MS * checks, OWNER_RETRY_LAST_MS)
  ownerTimer(step, cluster, state.now + waitMs, uid, place)
}

/** In another partition: what the owner's home says of it. */
export function ownerState(step: Step, event: OwnerState): void {
  const { cluster, uid, owner: place, seq } = event
  const about = { cluster, uid, place }
  const former = ownerOf(step.graph, cluster, uid, place)
  const epoch = clusterOf(step.graph, cluster)?.clusterEpoch ?? 0
  if (event.clusterEpoch < epoch) return drop(step, 'from another epoch of the cluster')
  if (former !== undefined && former.seq > seq) return drop(step, 'its home has told more since')
  const isAwaited = event.state === 'waiting' || event.state === 'orphaning'
  const count = countAt(step.graph, cluster, uid, place)
  if (count === undefined && !isAwaited) {
    if (former !== undefined) step.graph.remove(ownerKey(cluster, uid, place))
    // Its home was told so, and could not read it perhaps.
    sendInterest(step, about)
    return drop(step, 'it has no dependents here')
  }
  const wasVoid = (former?.position ?? -1n) < (clusterOf(step.graph, cluster)?.epochAt ?? 0n)
  const replica = {
    ...replicaOf(step, event, wasVoid ? undefined : former),
    pass: former?.pass ?? 'none',
    passAt: former?.passAt ?? 0n,
  }
  step.graph.put(ownerKey(cluster, uid, place), replica)
  const isNews = wasVoid || former?.state !== replica.state || former.phase !== replica.phase
  if (count !== undefined && (isNews || former?.orphanedAt !== replica.orphanedAt)) {
    judgeDependents(step, cluster, uid)
  }
  if (isAwaited) answerHome(step, about)
}

/** What is told once more is as old as it was: as news it would outdo what came in between, such as a relist of its dependents. */
function replicaOf(
  step: Step,
  { state, proof, orphanedAt, seq }: OwnerState,
  former: Owner | undefined,
): Owner {
  const isRepeated = former?.seq === seq && former.proof?.class === proof?.class
  const { position } = isRepeated ? former : step.at
  const known = { ...UNKNOWN_OWNER, position, seq, orphanedAt }
  switch (state) {
    case 'unknown':
      return known
    case 'absent':
      // Positions of another partition do not compare with ours.
      return { ...known, state: 'absent', proof: proof === null ? null : { ...proof, position } }
    case 'present':
      return { ...known, state: 'found', phase: 'observed' }
    case 'waiting':
    case 'orphaning':
      return { ...known, state: 'found', phase: state }
  }
}

/** Says how many there are here, once this partition is fit to say so; until then it looks again by timer. */
export function answerHome(step: Step, about: OwnerAbout): void {
  const { cluster, uid, place } = about
  const replica = ownerOf(step.graph, cluster, uid, place)
  const state = clusterOf(step.graph, cluster)
  if (replica === undefined || replica.answered || state === undefined) return
  const unfit = unfitness(step.graph, cluster, place)
  if (unfit !== undefined) {
    const at = Math.min(unfit.until, state.now + OWNER_RETRY_MS)
    return ownerTimer(step, cluster, at, uid, place)
  }
  step.graph.put(ownerKey(cluster, uid, place), { ...replica, answered: true })
  sendInterest(step, about)
}

function sendInterest(step: Step, { cluster, uid, place }: OwnerAbout, asks = false): void {
  const { group, kind, namespace, name } = place
  const count = countAt(step.graph, cluster, uid, place)
  const replica = ownerOf(step.graph, cluster, uid, place)
  const isAwaited = replica?.phase === 'waiting' || replica?.phase === 'orphaning'
  const { partition, partitions } = step.at
  step.outcome.notes.push({
    partition: partitionOf(homeOf(cluster, namespace), partitions),
    key: homeOf(cluster, namespace),
    event: {
      type: 'OwnerInterest',
      cluster,
      owner: { group, kind, namespace, name },
      uid,
      partition,
      dependents: count?.dependents ?? 0,
      blocking: count?.blocking ?? 0,
      answers: isAwaited && replica.answered ? replica.seq : null,
      asks,
    },
  })
  // With no dependents here, nobody will tell when it changes.
  const isOver = count === undefined && !(isAwaited && !replica.answered)
  if (isOver && replica !== undefined) step.graph.remove(ownerKey(cluster, uid, place))
}
