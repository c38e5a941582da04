/**
 * What `kinfold rules` prints. What must stay true: what holds objects is said beside how many, and
 * each rule with the command that changes that.
 */

import { annotateCommand } from '../../core/model/rule/annotate.ts'
import { durationText, shellWord } from '../../core/model/text.ts'
import { labelOf, verdictText } from '../../services/graph/api/word.ts'
import type {
  RuleDocument as Rule,
  RuleCountsDocument as RuleCounts,
  RuleExplanation,
  RuleList,
  RulePlan,
} from '../answer.ts'
import { structured } from '../print/output.ts'
import { table, time, timeAhead } from '../print/table.ts'
import { lineOf } from '../print/terminal.ts'
import { countOf, objectName } from '../print/word.ts'

export const LIST_OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml'] as const
export const PLAN_OUTPUTS = ['table', 'wide', 'name', 'json', 'yaml'] as const
export const EXPLAIN_OUTPUTS = ['text', 'json', 'yaml'] as const

type ListOutput = (typeof LIST_OUTPUTS)[number]
type PlanOutput = (typeof PLAN_OUTPUTS)[number]
type ExplainOutput = (typeof EXPLAIN_OUTPUTS)[number]

export function listText(list: RuleList, output: ListOutput): string {
  if (output === 'json' || output === 'yaml') return structured(list, output)
  const { rules } = list
  if (output === 'name') return rules.map(({ rule }) => `${lineOf(rule.name)}\n`).join('')
  if (rules.length === 0) return 'The policy has no rules.\n'
  const isWide = output === 'wide'
  const rows = rules.flatMap(({ rule, clusters }) => {
    const beside = isWide ? [rule.ruleDigest, rule.description] : []
    const none = { cluster: null, counts: null }
    return (clusters.length === 0 ? [none] : clusters).map(({ cluster, counts }) => [
      ...[rule.name, modeText(rule), cluster === null ? '-' : labelOf(cluster)],
      ...(counts === null ? COUNTED.map(() => '-') : cellsOf(counts)),
      ...beside,
    ])
  })
  const head = ['NAME', 'MODE', 'CLUSTER', ...COUNTED, ...(isWide ? ['DIGEST', 'ABOUT'] : [])]
  const over = rules.flatMap(({ rule, clusters }) =>
    clusters
      .filter(({ counts }) => counts.overLimit !== '')
      .map(({ cluster, counts }) => {
        const how = rule.name.includes('/')
          ? ''
          : `; "kinfold rules enforce ${lineOf(shellWord(rule.name))} --why …" releases it`
        return `${lineOf(`${labelOf(cluster)}: ${counts.overLimit}`)}${how}\n`
      }),
  )
  return table(head, rows) + over.join('')
}

const COUNTED = ['MATCHED', 'DUE', 'HELD', 'DELETING', 'LATER', 'NEXT', 'UNREAD']

function cellsOf({ matched, due, held, deleting, later, nextAt, unread }: RuleCounts): string[] {
  const all = Object.values(held).reduce((sum, each) => sum + each, 0)
  const counts = [matched, due, all, deleting, later].map(String)
  return [...counts, timeAhead(nextAt), `${unread}`]
}

export function modeText({ mode }: Pick<Rule, 'mode'>): string {
  return mode === 'dry-run' ? 'dry run' : mode
}

type OrderedRule = Pick<Rule, 'enforcedBy' | 'report' | 'annotate'>

/** By whom, why and since when. */
function orderText({ enforcedBy, report, annotate }: OrderedRule): string {
  if (report !== '') return `It only reports (${report}).`
  if (enforcedBy === null) {
    return annotate === null
      ? 'It is in dry run: it deletes nothing.'
      : 'It is in dry run: it annotates nothing.'
  }
  const { who, why, since } = enforcedBy
  if (who === '') return `Enforced by the annotation of its object since ${time(since)}.`
  return `Enforced by ${who}${why === '' ? '' : ` (${why})`} since ${time(since)}.`
}

function countsText(counts: RuleCounts, { annotate }: Pick<Rule, 'annotate'>): string {
  const { matched, due, deleting, elsewhere, later, nextAt, unread, beyond, held } = counts
  const holds = Object.entries(held).filter(([, count]) => count > 0)
  const parts = [
    `${countOf(matched, 'object')} matched, ${due} due`,
    ...holds.map(([by, count]) => `${count} held by ${by}`),
    ...(deleting > 0 ? [`${deleting} being ${annotate === null ? 'deleted' : 'annotated'}`] : []),
    ...(elsewhere > 0 ? [`${elsewhere} decided by owners or another rule`] : []),
    ...(later > 0 ? [`${later} later, the next at ${timeAhead(nextAt)}`] : []),
    ...(unread > 0 ? [`${unread} not read yet`] : []),
    ...(beyond > 0 ? [`${beyond} with more fields than are read`] : []),
  ]
  return `${parts.join('; ')}.`
}

export function planText(plan: RulePlan, output: PlanOutput): string {
  if (output === 'json' || output === 'yaml') return structured(plan, output)
  const { rule, counts, objects, cluster } = plan
  if (output === 'name') {
    const due = objects.filter(({ isDue }) => isDue)
    return due.map((object) => `${lineOf(objectName(object))}\n`).join('')
  }
  const isWide = output === 'wide'
  const rows = objects.map((object) => {
    const { namespace, kind, name, uid, dueAt, because, along } = object
    const beside = isWide ? [along === null ? '-' : `${along}`, uid] : []
    return [namespace, `${kind}/${name}`, timeAhead(dueAt), stateText(object), ...beside, because]
  })
  const head = [
    ...['NAMESPACE', 'OBJECT', 'DUE', 'STATE', ...(isWide ? ['ALONG', 'UID'] : []), 'REASON'],
  ]
  const along = objects.reduce((sum, each) => sum + (each.along ?? 0), 0)
  return [
    `Rule ${lineOf(rule.name)} in cluster ${lineOf(labelOf(cluster))}: ${lineOf(rule.description)}\n`,
    `${lineOf(orderText(rule))}\n`,
    annotationText(rule),
    `${countsText(counts, rule)}\n`,
    along > 0 ? `${countOf(along, 'dependent')} of those listed would be deleted along.\n` : '',
    counts.overLimit === '' ? '' : `${lineOf(counts.overLimit)}.\n`,
    rows.length === 0 ? '' : `\n${table(head, rows)}`,
    plan.continue === null ? '' : 'More are not listed (raise --limit).\n',
    ordersText(plan),
  ].join('')
}

/** What becomes of what is due, or would; empty where it is deleted. */
function annotationText({ annotate, mode }: Rule): string {
  if (annotate === null) return ''
  const does = mode === 'enforced' ? 'It annotates' : 'It would annotate'
  const pair = `${annotate.key}=${JSON.stringify(annotate.value)}`
  return `${lineOf(`${does} what is due with ${pair}, and deletes nothing.`)}\n`
}

/** None about a rule that only reports; what a rule of an object is, its annotation says. */
function ordersText({ rule, counts }: RulePlan): string {
  const { name, ruleDigest, report, mode } = rule
  if (report !== '') return ''
  const command = lineOf(shellWord(name))
  const isOfObject = name.includes('/')
  if (mode === 'enforced' && counts.overLimit === '') {
    const stop = isOfObject ? annotateCommand(name, '') : `kinfold rules suspend ${command}`
    return `\nTo stop it: ${stop}\n`
  }
  const enforce = isOfObject
    ? annotateCommand(name, ruleDigest)
    : `kinfold rules enforce ${command} --digest ${ruleDigest} --why …`
  return `\nTo enforce it: ${enforce}\n`
}

function stateText({
  isDue,
  by,
  admission,
  deletion,
  verdict,
}: RulePlan['objects'][number]): string {
  if (deletion !== null) return 'being deleted'
  if (!isDue) return 'later'
  if (by === 'owners')
    return verdict === null ? 'its owners' : `its owners: ${verdictText(verdict.type)}`
  if (by === 'other-rule') return 'another rule'
  return admission === null ? 'due' : `held by ${admission.by}`
}

/** What an order to enforce it would release. */
export function releaseText({ rule, clusters }: RuleList['rules'][number]): string {
  return [
    `Rule ${lineOf(rule.name)}: ${lineOf(rule.description)}\n`,
    `${lineOf(orderText(rule))}\n`,
    ...clusters.map(({ cluster, counts }) => {
      const over =
        counts.overLimit === '' ? '' : ` ${counts.overLimit}; to enforce it releases all of that.`
      return `${lineOf(`Cluster ${labelOf(cluster)}: ${countsText(counts, rule)}${over}`)}\n`
    }),
    `Digest: ${rule.ruleDigest}\n`,
  ].join('')
}

export function explanationText(answer: RuleExplanation, output: ExplainOutput): string {
  if (output !== 'text') return structured(answer, output)
  const { rule, match, cases, propagationPolicy, forMs, reads, object } = answer
  const read = reads.map(({ group, kind, labels, annotations, fields }) => {
    const all = [
      ...labels.map((each) => `label ${each}`),
      ...annotations.map((each) => `annotation ${each}`),
      ...fields,
    ]
    const what = group === '' ? kind : `${kind}.${group}`
    return `  of ${what}: ${all.length === 0 ? 'nothing beside the metadata' : all.join(', ')}`
  })
  const lines = [
    `Rule ${rule.name}: ${rule.description}`,
    orderText(rule),
    `Digest: ${rule.ruleDigest}`,
    'It is about:',
    ...match.map((each) => `  ${each}`),
    'An object of these is due:',
    ...cases.map(({ what }) => `  ${what}`),
    ...(forMs > 0 ? [`  once that was so for ${durationText(forMs)} without a break`] : []),
    ...(rule.annotate === null
      ? [`Deleted with --cascade=${propagationPolicy}.`]
      : [annotationText(rule).trim()]),
    'Read of its kinds, for all rules about them:',
    ...read,
  ]
  return lines.map((line) => `${lineOf(line)}\n`).join('') + objectText(object)
}

function objectText(object: RuleExplanation['object']): string {
  if (object === null) return ''
  const { kind, name, namespace, terms, cases } = object
  const at = namespace === '' ? '' : ` -n ${namespace}`
  const head = `\n${lineOf(`${kind}/${name}${at}: ${endText(object)}`)}\n`
  const rows = [
    ...terms.map((each) => termRow('', each)),
    ...cases.flatMap(({ what, terms: own, dueAt: time_, because }) => [
      [time_ === null ? 'no time' : timeAhead(time_), what, because],
      ...own.map((each) => termRow('  ', each)),
    ]),
  ]
  const { verdict, admission } = object
  const held =
    admission === null ? '' : `${lineOf(`Held by ${admission.by}: ${admission.because}.`)}\n`
  const judged =
    verdict === null
      ? ''
      : `${lineOf(`Verdict: ${verdictText(verdict.type)}. ${verdict.because}.`)}\n`
  return [head, table(['HOLDS', 'TERM', 'VALUE'], rows), judged, held].join('')
}

type Explained = NonNullable<RuleExplanation['object']>

function termRow(indent: string, { what, isTrue, value }: Explained['terms'][number]): string[] {
  const word = isTrue === null ? 'not read' : isTrue ? 'yes' : 'no'
  return [word, indent + what, value ?? '']
}

function endText({ unreadBecause, isMatched, dueAt, isDue, terms }: Explained): string {
  if (unreadBecause !== '') return unreadBecause
  if (isMatched !== true) return 'the rule is not about it'
  if (dueAt === null) return 'no case has a time for it, so it is not due'
  if (isDue) return `due since ${time(dueAt)}`
  // Those of its match hold: what is left asks for other objects, or for its own annotation.
  const open = terms.filter(({ isTrue }) => isTrue !== true)
  if (open.length === 0) return `due at ${timeAhead(dueAt)}`
  const isKnown = open.some(({ isTrue }) => isTrue === false)
  return `not due, since ${isKnown ? 'a term does not hold' : 'it is not known whether each term holds'}`
}
