/**
 * Why a verdict may not be carried out now, though its references say so, first that fits; and since when it could have been.
 *
 * What must stay true: what is not known holds. A reason ends with what lets it go, and whatever lets it go has it judged again. A hold is never
 * shorter than the policy has it: it counts from the latest that makes the object go.
 *
 * Not here: what is protected (protection.ts), what people ask for while it runs (directive.ts).
 */
import { pausedBecause } from './directive.ts'
import type { StateReader } from './graph.ts'
import { clusterOf, policyOf } from './graph.ts'
import type { HeldBy, Hold, Node } from './node.ts'
import type { ClusterId } from './object.ts'
import type { Holds } from './policy.ts'
import type { EvidenceClass } from './proof.ts'
import { protectedBecause } from './protection.ts'
import type { Stand } from './standing.ts'
import { timeText } from './time-text.ts'

/** What the verdict would have done: `delete` an object, `drop` references, or `finish` an owner's deletion by taking a finalizer off. */
export type Effect = 'delete' | 'drop' | 'finish'

/** Whether anything at all is asked of this cluster now, looks and warnings included. */
export function mayIssue(graph: StateReader, cluster: ClusterId): boolean {
  return policyOf(graph).policy.mode !== 'observe' && pausedBecause(graph, cluster) === ''
}

export interface Going {
  readonly effect: Effect
  readonly evidence: EvidenceClass
  /** All that it is judged by. */
  readonly stands: readonly Stand[]
  /** Of the record that has it judged. */
  readonly time: number
}

export interface Held {
  /** What is to be remembered; null for nothing. */
  readonly hold: Hold | null
  /** Empty when nothing holds it. */
  readonly because: string
}

export function holdOf(graph: StateReader, cluster: ClusterId, node: Node, going: Going): Held {
  const since = sinceOf(node, going)
  const holdMs = holdMsOf(policyOf(graph).policy.holds, going)
  const endsAt = holdMs === 0 ? null : since + holdMs
  const hindrance = hindranceOf(graph, cluster, node, going, endsAt)
  if (hindrance === null && endsAt === null) return GOES
  const { by, because, until } = hindrance ?? NOTHING
  return { hold: { by, since, until }, because }
}

const GOES: Held = { hold: null, because: '' }

interface Hindrance {
  readonly by: HeldBy | null
  readonly because: string
  readonly until: number | null
}

const NOTHING: Hindrance = { by: null, because: '', until: null }

function hindranceOf(
  graph: StateReader,
  cluster: ClusterId,
  node: Node,
  { effect, evidence }: Going,
  until: number | null,
): Hindrance | null {
  if (policyOf(graph).policy.mode === 'observe') {
    return { by: 'mode', because: 'mode observe only records', until: null }
  }
  const paused = pausedBecause(graph, cluster)
  if (paused !== '') return { by: 'pause', because: paused, until: null }
  if (effect === 'delete') {
    const spared = protectedBecause(graph, cluster, node.object, evidence)
    if (spared !== '') return { by: 'protection', because: spared, until: null }
  }
  if (evidence === 'E4') {
    return { by: 'approval', because: 'a mass cause (E4) needs approval', until: null }
  }
  if (until !== null && (clusterOf(graph, cluster)?.now ?? 0) < until) {
    return { by: 'hold', because: `evidence ${evidence} is held until ${timeText(until)}`, until }
  }
  return null
}

/** What a live watch saw to begin takes references that nobody needs along at once: dropping them deletes nothing. */
function holdMsOf({ e1Ms, e2Ms, e3Ms }: Holds, { effect, evidence }: Going): number {
  switch (evidence) {
    case 'E1':
      return effect === 'delete' ? e1Ms : 0
    case 'E2':
      return e2Ms
    case 'E3':
      return e3Ms
    case 'O':
    case 'W':
    case 'E4':
      return 0
  }
}

/** An owner that came and went again in between has begun it anew, though nothing was judged meanwhile. */
function sinceOf({ hold }: Node, { stands, time }: Going): number {
  let since = hold?.since ?? time
  for (const { proof } of stands) if (proof !== null && proof.at > since) since = proof.at
  return since
}
