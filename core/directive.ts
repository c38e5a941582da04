/**
 * What people ask for while Kinfold runs: pause, resume, approve, protect.
 *
 * What must stay true: a directive changes what may be carried out, never what is true of a cluster. What holds ends only by another directive, and
 * then everything it held is judged again.
 *
 * Not here: what is protected (protection.ts), how reapers learn of it at once (services/reaper/control.ts).
 */
import { enqueue } from './agenda.ts'
import type { Directive } from './event.ts'
import type { StateReader } from './graph.ts'
import { directivesOf } from './graph.ts'
import { DIRECTIVES_KEY } from './key.ts'
import type { ClusterId } from './object.ts'
import type { Step } from './outcome.ts'
import { drop } from './outcome.ts'
import type { Pause } from './state.ts'

export function directive(step: Step, event: Directive): void {
  switch (event.verb) {
    case 'pause':
      return pause(step, event)
    case 'resume':
      return resume(step, event)
    default:
      return drop(step, `this version does not know the directive ${event.verb}`)
  }
}

/** What was issued before settles as blocked, and is judged then. */
function pause(step: Step, { cluster, who, why }: Directive): void {
  const { pauses } = directivesOf(step.graph)
  const others = pauses.filter((each) => each.cluster !== cluster)
  putPauses(step, [...others, { cluster, who, why }])
}

function resume(step: Step, { cluster }: Directive): void {
  const { pauses } = directivesOf(step.graph)
  const others = pauses.filter((each) => each.cluster !== cluster)
  if (others.length === pauses.length) return drop(step, 'it was not paused')
  putPauses(step, others)
  enqueue(step, { work: 'verdicts', cluster })
}

function putPauses(step: Step, pauses: readonly Pause[]): void {
  step.graph.put(DIRECTIVES_KEY, { ...directivesOf(step.graph), pauses })
}

/** Why nothing is to be done in this cluster now; empty when it may. */
export function pausedBecause(graph: StateReader, cluster: ClusterId): string {
  const { pauses } = directivesOf(graph)
  const pause = pauses.find((each) => each.cluster === '' || each.cluster === cluster)
  if (pause === undefined) return ''
  const why = pause.why === '' ? '' : ` (${pause.why})`
  const scope = pause.cluster === '' ? '' : ' --cluster'
  return `paused by ${pause.who}${why}; "kinfold resume${scope}" lets it go`
}
