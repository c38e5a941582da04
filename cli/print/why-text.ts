/** What `kinfold why` prints: the state of an object and its history, also after it was deleted. */

import { shellWord } from '../../core/model/text.ts'
import { evidenceText, labelOf, recordedText, verdictText } from '../../services/graph/api/word.ts'
import {
  actorText,
  betweenText,
  deletedSentence,
  isGuess,
  orphanedSentence,
} from '../../web/deletion-text.ts'
import type { DeletedBy, Why as WhyDocument } from '../answer.ts'
import { paint, styleOfPhase } from './paint.ts'
import { table, time, timeAhead } from './table.ts'
import { lineOf } from './terminal.ts'
import { attemptText, stateText } from './word.ts'

/** `moment`: of the past, in words. `owners`: by uid, what is known of owners in other clusters. */
export function tell(
  why: WhyDocument,
  moment?: string,
  now: number = Date.now(),
  owners: ReadonlyMap<string, WhyDocument> = new Map(),
): string {
  const { cluster, others, object, verdict, admission, attempt, obstacle, references } = why
  const { deletion, orphaned, deletedBy, history, managers, elsewhere } = why
  const at = object.namespace === '' ? '' : ` -n ${object.namespace}`
  const out = [
    `${object.kind}/${object.name}${at}, cluster ${labelOf(cluster)}, uid ${object.uid}${moment === undefined ? '' : `, ${moment}`}`,
    paint(stateOf(why, moment !== undefined), styleOfPhase(why.phase ?? 'gone')),
  ]
  if (others.length > 0) out.push(otherHint(others))
  if (why.restoredAs !== null) out.push(restoredAsText(why.restoredAs, cluster))
  if (why.restored !== null) out.unshift(restoredText(why.restored))
  if (deletion !== null) out.unshift(deletedSentence(endOf(why), deletion, now))
  if (orphaned !== null) out.unshift(orphanedSentence(orphaned, why, now))
  for (const { kind, name, uid, standing, reason } of references) {
    const status = standing === null ? '' : `: ${standing}: ${reason}`
    out.push(`  owner ${kind}/${name} (uid ${uid})${status}`)
  }
  out.push(...managers.map(managedText))
  out.push(...elsewhere.flatMap((each) => elsewhereText(each, owners.get(each.owner.uid), now)))
  if (verdict !== null) {
    const evidence =
      verdict.evidence === null
        ? ''
        : ` Evidence: ${verdict.evidence} (${evidenceText(verdict.evidence)}).`
    const events = `Based on events ${verdict.basis.join(', ')}.`
    out.push(`Verdict: ${verdictText(verdict.type)}. ${verdict.because}.${evidence} ${events}`)
  }
  if (admission !== null) out.push(`Held by ${admission.by}: ${admission.because}.`)
  if (attempt !== null) {
    const reason = attempt.reason === '' ? '' : `: ${attempt.reason}`
    out.push(
      `Command ${attempt.command}: ${attempt.verb}, attempt ${attempt.count}: ${attemptText(attempt.state)}${reason}`,
    )
  }
  out.push(...deletedBy.map((each) => deletedByText(each, object.uid)))
  if (obstacle !== null) out.push(obstacleText(obstacle, [verdict?.because, admission?.because]))
  const head = `${out.map(lineOf).join('\n')}\n`
  return [head, historyTable(history), othersText(others)].filter((each) => each !== '').join('\n')
}

/** `known`: that owner, where its cluster is watched into this log. */
function elsewhereText(
  { rule, because, owner }: WhyDocument['elsewhere'][number],
  known: WhyDocument | undefined,
  now: number,
): readonly string[] {
  const { cluster, kind, namespace, name } = owner
  const what = `${kind}/${name} -n ${namespace} in cluster ${labelOf(cluster)}`
  const said = known?.deletion == null ? [] : [deletedSentence(endOf(known), known.deletion, now)]
  return [
    `  owner ${what}, by rule ${rule}: ${because}`,
    ...said.map((sentence) => `    there: ${sentence}`),
  ]
}

/** A mark is no owner reference. */
function managedText({
  toolName,
  kind,
  namespace,
  name,
  mark,
}: WhyDocument['managers'][number]): string {
  const at = namespace ? ` -n ${namespace}` : ''
  return `  managed by ${toolName}: ${kind ?? 'claim'}/${name}${at}, as the ${mark} says`
}

const MATCH_TEXT: Readonly<Record<DeletedBy['match'], string>> = {
  'audit-id': 'by Audit-ID',
  uid: 'by uid',
  'name-and-time': 'by name and time',
  'collection-and-time': 'by a delete of the whole collection, and time',
}

/** A guess says that it is one. `asked`: the uid of the object that the question is about. */
function deletedByText(by: DeletedBy, asked: string): string {
  const { object, match, others, at, verb } = by
  const isNamespace = object.group === '' && object.kind === 'Namespace'
  const named = `${isNamespace ? '' : 'Owner '}${object.kind}/${object.name} `
  const what = object.uid === asked ? '' : named
  const deleted = verb === 'evict' ? 'evicted' : 'deleted'
  const said = `${what}${isGuess(by) ? 'probably ' : ''}${deleted} by ${actorText(by)}`
  const more = others === 0 ? '' : `; ${others} of other users fit as well`
  const follower = isNamespace ? 'the namespace controller followed it' : FOLLOWED
  const inferred = by.isInferred ? `; inferred: ${follower}` : ''
  const sentence = `${said}, ${MATCH_TEXT[match]}, ${at === null ? '' : time(at)}${more}${inferred}.`
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`
}

const FOLLOWED = 'after it another collector deleted this'

/** When it was over, or else when it was asked for. */
function endOf({ phase, asOwner, history }: WhyDocument): {
  readonly at: string | null
  readonly isOver: boolean
} {
  const gone = history.findLast(({ change }) => change === 'gone')
  const asked = history.find((each) => ASKED.has(each.phase ?? ''))
  if (phase !== null) return { at: asked?.at ?? null, isOver: false }
  return { at: gone?.at ?? asOwner?.proof?.at ?? null, isOver: true }
}

const ASKED: ReadonlySet<string> = new Set(['deleting', 'waiting', 'orphaning'])

/** One sentence. */
function stateOf({ phase, asOwner, history, deletion }: WhyDocument, isPast: boolean): string {
  if (isPast && phase === 'unknown') return 'Unknown: nobody watched it then, or it is not kept.'
  if (phase !== null)
    return phase === 'unknown' ? 'Unknown: its partition is being restored.' : stateText(phase)
  const { at, evidence } =
    asOwner?.proof ?? history.findLast(({ change }) => change === 'gone') ?? {}
  if (at === undefined) return 'No longer exists.'
  const how = evidence == null ? '' : ` (${evidenceText(evidence)})`
  if (deletion?.unseenSince != null) {
    const when = betweenText(deletion.unseenSince, at)
    return `Deleted ${when}: nothing was seen in between, and it was reported late.`
  }
  return `Deleted ${time(at)}${how}.`
}

function historyTable(history: WhyDocument['history']): string {
  if (history.length === 0) return ''
  const rows = history.map((entry) => {
    const { at, partition, position, change, text, evidence, command } = entry
    const known = [
      evidence === null ? '' : `evidence ${evidence}`,
      command === null ? '' : `command ${command}`,
    ].filter((each) => each !== '')
    const beside = known.length === 0 ? '' : ` (${known.join(', ')})`
    return [
      at ?? '-',
      `${partition}-${position}`,
      change === 'gone' ? 'deleted' : change,
      `${change === 'verdict' ? recordedText(text, entry.admission) : text}${beside}`,
    ]
  })
  return table(['TIME', 'POSITION', 'CHANGE', 'DETAILS'], rows)
}

/** Any client that may write annotations may write that one. */
function restoredText({ from, at }: NonNullable<WhyDocument['restored']>): string {
  const when = at === null ? '' : ` at ${time(at)}`
  return `Restored from uid ${from.join(', ')}${when} by kinfold restore, as its annotation says.`
}

function restoredAsText(
  { uid }: NonNullable<WhyDocument['restoredAs']>,
  { scope }: WhyDocument['cluster'],
): string {
  const [word, at] = [shellWord(`uid:${uid}`), shellWord(scope)]
  return `Restored as uid ${uid}, as an annotation of that one says: kinfold why ${word} --cluster ${at}`
}

/** Beside what is said first, where it is read. */
function otherHint(others: WhyDocument['others']): string {
  const gone = others.filter(({ isThere }) => !isThere)
  const where = [...new Set(gone.map(({ cluster }) => labelOf(cluster)))].join(', ')
  const deleted = gone.length === 0 ? '' : `; deleted ones in ${where}`
  return `Others have or had this name, listed below${deleted}.`
}

/** A user who asked by name may have meant another. */
function othersText(others: WhyDocument['others']): string {
  if (others.length === 0) return ''
  const lines = others.map(({ cluster, uid, isThere, at }) => {
    const what = isThere ? 'exists' : `deleted, last event ${time(at)}`
    const [word, scope] = [shellWord(`uid:${uid}`), shellWord(cluster.scope)]
    return lineOf(`  cluster ${labelOf(cluster)}, ${what}: kinfold why ${word} --cluster ${scope}`)
  })
  return `Other objects of this name:\n${lines.join('\n')}\n`
}

/** Its reason is often that of the verdict, or of what holds it: then it is not printed twice. */
function obstacleText(
  { by, reason, since, count, until }: NonNullable<WhyDocument['obstacle']>,
  printed: readonly (string | undefined)[],
): string {
  const facts = [
    since === null ? '' : `since ${time(since)}`,
    count === null ? '' : `tried ${count} ${count === 1 ? 'time' : 'times'}`,
    until === null ? 'judged again when something changes' : `next try at ${timeAhead(until)}`,
  ].filter((fact) => fact !== '')
  return `Blocked (${by})${printed.includes(reason) ? ' ' : `: ${reason}; `}${facts.join(', ')}.`
}
