/**
 * Folds one record of a partition into the graph and says what the cluster should be asked to do.
 *
 * What must stay true: the result follows from the state and the record alone, in bounded work. The graph is only as fresh as the log, so a
 * command is a claim and never a fact; its result comes back as an event, and that event changes the graph. This is what makes a
 * replay of the log harmless.
 *
 * Not here: clocks, clusters, bytes, reading pages (services/graph).
 */
import { breakerOpened } from './breaker.ts'
import { tokensAsked } from './budget.ts'
import { STEPS_PER_RECORD } from './constant.ts'
import { definitionDeleted } from './definition.ts'
import { objectDeleted } from './departure.ts'
import { directive } from './directive.ts'
import type { Event } from './event.ts'
import type { Graph } from './graph.ts'
import { ownerInterest, ownerState, tellOwners } from './interest.ts'
import { never } from './invariant.ts'
import { namespaceEnding } from './namespace.ts'
import type { At, Outcome, Step } from './outcome.ts'
import { emptyOutcome } from './outcome.ts'
import { notesLost } from './retelling.ts'
import { commandSettled, ownerAbsent, ownerFound } from './settle.ts'
import { kindMissed, kindShare } from './share.ts'
import { objectSeen, touched } from './sighting.ts'
import {
  heartbeat,
  kindGone,
  kindServed,
  policyChanged,
  syncFinished,
  syncStarted,
  unreadable,
  watcherStarted,
} from './sync.ts'
import { tokensGranted } from './token.ts'
import type { PageRequest } from './work.ts'
import { hasWork, nextPage, takeStep } from './work.ts'

/** A record being folded. */
export interface Folding {
  readonly step: Step
  readonly event: Event
  readonly hadWork: boolean
  stepsLeft: number
}

/** Begins to fold a record. While `pageOf` names a page, give its keys to `resume`; then `finish`. */
export function fold(graph: Graph, event: Event, at: At): Folding {
  const step: Step = { graph, at, outcome: emptyOutcome(), owners: new Map() }
  const hadWork = hasWork(graph)
  apply(step, event)
  tellOwners(step)
  return { step, event, hadWork, stepsLeft: mayGoOn(event, hadWork) ? STEPS_PER_RECORD : 0 }
}

/**
 * Whoever puts work on the agenda begins with it. From then on it goes on at `Continue`, which stands behind all that was told meanwhile: else each result
 * of a cascade would bring hundreds of decisions more, and the fold fall behind those who carry them out. And at heartbeats, should a `Continue` ever be unreadable.
 */
function mayGoOn({ type }: Event, hadWork: boolean): boolean {
  return !hadWork || type === 'Continue' || type === 'Heartbeat'
}

/** The page that the fold wants to look at next; undefined when this record may do no more. */
export function pageOf(folding: Folding): PageRequest | undefined {
  return folding.stepsLeft > 0 ? nextPage(folding.step.graph) : undefined
}

export function resume(folding: Folding, keys: readonly string[]): void {
  takeStep(folding.step, keys)
  tellOwners(folding.step)
  folding.stepsLeft -= 1
}

/** Ends the fold: what is left on the agenda is continued by a record of its own, so a replay slices the same way. */
export function finish(folding: Folding): Outcome {
  const { step, event, hadWork } = folding
  const goesOn = hasWork(step.graph) && (event.type === 'Continue' || !hadWork)
  if (goesOn) {
    const { partition } = step.at
    step.outcome.notes.push({ partition, key: '~', event: { type: 'Continue' } })
  }
  return step.outcome
}

function apply(step: Step, event: Event): void {
  switch (event.type) {
    case 'ObjectAdded':
    case 'ObjectUpdated':
      return objectSeen(step, event)
    case 'ObjectDeleted':
      return objectDeleted(step, event)
    case 'Touched':
      return touched(step, event)
    case 'OwnerFound':
      return ownerFound(step, event)
    case 'OwnerAbsent':
      return ownerAbsent(step, event)
    case 'CommandSettled':
      return commandSettled(step, event)
    case 'WatcherStarted':
      return watcherStarted(step, event)
    case 'SyncStarted':
      return syncStarted(step, event)
    case 'SyncFinished':
      return syncFinished(step, event)
    case 'KindServed':
      return kindServed(step, event)
    case 'KindGone':
      return kindGone(step, event)
    case 'Heartbeat':
      return heartbeat(step, event)
    case 'PolicyChanged':
      return policyChanged(step, event)
    case 'Unreadable':
      return unreadable(step, event)
    case 'OwnerInterest':
      return ownerInterest(step, event)
    case 'OwnerState':
      return ownerState(step, event)
    case 'Directive':
      return directive(step, event)
    case 'TokensAsked':
      return tokensAsked(step, event)
    case 'TokensGranted':
      return tokensGranted(step, event)
    case 'BreakerOpened':
      return breakerOpened(step, event)
    case 'NamespaceEnding':
      return namespaceEnding(step, event)
    case 'DefinitionDeleted':
      return definitionDeleted(step, event)
    case 'KindMissed':
      return kindMissed(step, event)
    case 'KindShare':
      return kindShare(step, event)
    case 'NotesLost':
      return notesLost(step, event)
    case 'Continue':
      return
    default:
      return never(event)
  }
}
