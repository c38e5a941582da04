/**
 * The rules of the policy: which there are, what each is about and what is due; and the plan of
 * one, with the commands that enforce and suspend it. Nothing is ordered here.
 *
 * What must stay true: what holds objects is said beside how many; the command to enforce a rule
 * names the digest of the rule that is shown.
 */
import { type ComponentChild, h } from 'preact'
import type { RuleDocument as Rule, RuleCountsDocument, RuleList, RulePlan } from '../cli/answer.ts'
import { annotateCommand } from '../core/model/rule/annotate.ts'
import { type Answered, REFRESH_MS, useAnswer } from './base/answer.ts'
import { ask } from './base/ask.ts'
import { Chips } from './base/chip.ts'
import { Copied } from './base/command.ts'
import { Notice, Section, Table, When } from './base/frame.ts'
import { linkTo, type Place } from './base/place.ts'
import { clusterText, countOf, lineOf, nameText, shellWord } from './base/text.ts'
import { OneNamespace } from './one-namespace.ts'

/** Of a cluster with more objects of its rules' kinds it is counted once, and again when asked. */
const MOST_REFRESHED = 10_000
const LISTED = '500'

export function RulesView({ words }: Pick<Place, 'words'>): ComponentChild {
  const { rule, cluster, namespace } = words
  if (rule !== undefined) return h(OneRule, { rule, cluster, namespace })
  return h(AllRules, { cluster, namespace })
}

interface Scope {
  readonly cluster: string | undefined
  readonly namespace: string | undefined
}

function AllRules({ cluster, namespace }: Scope): ComponentChild {
  const asked = useAnswer(
    JSON.stringify(['rules', cluster, namespace]),
    async (signal) => await ask('/v1/rules', { cluster, namespace }, signal),
    (last) => (sizeOf(last) > MOST_REFRESHED ? 0 : REFRESH_MS),
  )
  const { answer } = asked
  return h(
    'div',
    null,
    h('h1', null, 'Rules'),
    h(Notice, { asked }),
    h(OneNamespace, { asked, cluster: cluster ?? '' }),
    answer === undefined ? null : h(Listed, { list: answer, again: asked.again }),
    h(Section, {
      title: 'On the command line',
      children: h('p', null, h(Copied, { text: 'kinfold rules list' })),
    }),
  )
}

function sizeOf(list: RuleList | undefined): number {
  const all = list?.rules.flatMap(({ clusters }) => clusters) ?? []
  return all.reduce((sum, { counts }) => sum + counts.matched + counts.unread, 0)
}

function Listed({
  list,
  again,
}: {
  readonly list: RuleList
  readonly again: () => void
}): ComponentChild {
  const refresh = h('button', { type: 'button', onClick: again }, 'Refresh')
  if (list.rules.length === 0) {
    const children = [h('p', null, 'The policy has no rules.'), h('p', null, refresh)]
    return h(Section, { title: 'All rules', children })
  }
  const head = ['Rule', 'Cluster', 'Mode', 'Matched', 'Due', 'Held', 'Next', 'Not read', 'About']
  const rows = list.rules.flatMap(({ rule, clusters }) =>
    clusters.map(({ cluster, counts }) => [
      h(
        'a',
        { href: linkTo('rules', { rule: rule.name, cluster: cluster.scope }) },
        lineOf(rule.name),
      ),
      ...[clusterText(cluster), h(Mode, { rule, counts }), `${counts.matched}`, `${counts.due}`],
      ...[heldText(counts), h(When, { at: counts.nextAt }), `${counts.unread}`],
      lineOf(rule.description),
    ]),
  )
  return h(Section, {
    title: 'All rules',
    children: [h('p', null, refresh), h(Table, { label: 'Rules', head, rows })],
  })
}

function Mode({
  rule,
  counts,
}: {
  readonly rule: Rule
  readonly counts: RuleCountsDocument
}): ComponentChild {
  const isOver = counts.overLimit !== ''
  return h(Chips, {
    chips: [
      rule.mode === 'enforced'
        ? { text: 'enforced', tone: 'good' }
        : { text: rule.mode === 'report' ? 'report' : 'dry run', tone: 'quiet' },
      ...(isOver ? [{ text: 'over its limit', tone: 'warm' } as const] : []),
    ],
  })
}

/** Such as `3 by rule, 1 by pause`. */
function heldText({ held }: RuleCountsDocument): string {
  const all = Object.entries(held).filter(([, count]) => count > 0)
  return all.length === 0 ? '0' : all.map(([by, count]) => `${count} by ${by}`).join(', ')
}

function OneRule({ rule, cluster, namespace }: Scope & { readonly rule: string }): ComponentChild {
  const asked = useAnswer(
    JSON.stringify(['rule', rule, cluster, namespace]),
    async (signal) => {
      const query = { cluster, namespace, limit: LISTED }
      return await ask('/v1/rules/{rule}/plan', query, signal, { rule })
    },
    (last) => ((last?.counts.matched ?? 0) > MOST_REFRESHED ? 0 : REFRESH_MS),
  )
  const { answer } = asked
  return h(
    'div',
    null,
    h('h1', null, 'Rule ', h('bdi', null, lineOf(rule))),
    h('p', null, h('a', { href: linkTo('rules') }, 'All rules')),
    h(Notice, { asked }),
    h(OneNamespace, { asked, cluster: cluster ?? '' }),
    answer === undefined ? null : h(Planned, { plan: answer, asked }),
  )
}

function Planned({
  plan,
  asked,
}: {
  readonly plan: RulePlan
  readonly asked: Pick<Answered<RulePlan>, 'again'>
}): ComponentChild {
  const { rule, counts, cluster } = plan
  const over =
    counts.overLimit === ''
      ? null
      : h('p', { class: 'notice warm' }, `${lineOf(counts.overLimit)}.`)
  return [
    h('p', null, lineOf(rule.description)),
    h('p', null, h(Mode, { rule, counts }), ' ', lineOf(orderText(rule))),
    over,
    h(Section, {
      title: `What it ${doesText(rule)} in ${clusterText(cluster)}`,
      children: [
        h('p', null, countsText(counts, rule)),
        h('p', null, h('button', { type: 'button', onClick: asked.again }, 'Refresh')),
        plan.objects.length === 0 ? null : h(Objects, { plan }),
        plan.continue === null ? null : h('p', null, `More than ${LISTED} are not listed.`),
      ],
    }),
    rule.report === ''
      ? h(Section, { title: 'On the command line', children: h(Orders, { rule }) })
      : null,
  ]
}

function doesText({ mode, annotate }: Rule): string {
  const [does, would] = annotate === null ? ['deletes', 'delete'] : ['annotates', 'annotate']
  return mode === 'enforced' ? does : `would ${would}`
}

function orderText({ enforcedBy, report, annotate }: Rule): string {
  if (report !== '') return `It only reports (${report}).`
  const does = annotate === null ? 'deletes' : 'annotates'
  if (enforcedBy === null) return `No order enforces it as it is, so it ${does} nothing.`
  const { who, why } = enforcedBy
  if (who === '') return 'Enforced by its annotation.'
  return `Enforced by ${who}${why === '' ? '' : ` (${why})`}.`
}

function countsText(counts: RuleCountsDocument, { annotate }: Rule): string {
  const { matched, due, deleting, later, unread } = counts
  const parts = [
    `${countOf(matched, 'object')} matched`,
    `${due} due`,
    `held: ${heldText(counts)}`,
    ...(deleting > 0 ? [`${deleting} being ${annotate === null ? 'deleted' : 'annotated'}`] : []),
    ...(later > 0 ? [`${later} later`] : []),
    ...(unread > 0 ? [`${unread} not read yet`] : []),
  ]
  return `${parts.join('; ')}.`
}

function Objects({ plan: { objects, cluster } }: { readonly plan: RulePlan }): ComponentChild {
  const rows = objects.map((each) => [
    h(
      'a',
      { href: linkTo('object', { cluster: cluster.scope, uid: each.uid }) },
      h('bdi', null, nameText(each)),
    ),
    lineOf(each.namespace),
    h(When, { at: each.dueAt }),
    lineOf(stateText(each)),
    each.along === null ? '' : `${each.along}`,
    lineOf(each.because),
  ])
  const head = ['Object', 'Namespace', 'Due', 'State', 'Deleted along', 'Reason']
  return h(Table, { label: 'Objects of the rule', head, rows })
}

function stateText({ isDue, by, admission, deletion }: RulePlan['objects'][number]): string {
  if (deletion !== null) return 'being deleted'
  if (!isDue) return 'later'
  if (by === 'owners') return 'its owners decide'
  if (by === 'other-rule') return 'another rule decides'
  return admission === null ? 'due' : `held by ${admission.by}`
}

/** A rule of an object of the cluster is enforced by its annotation there, others by an order. */
function Orders({ rule }: { readonly rule: Rule }): ComponentChild {
  const name = shellWord(rule.name)
  if (name === undefined) return null
  const isOfObject = rule.name.includes('/')
  const enforce = isOfObject
    ? annotateCommand(rule.name, rule.ruleDigest)
    : `kinfold rules enforce ${name} --digest ${rule.ruleDigest} --why '…'`
  const suspend = isOfObject ? annotateCommand(rule.name, '') : `kinfold rules suspend ${name}`
  return h(
    'dl',
    { class: 'commands' },
    h('dt', null, 'Enforce it, exactly as it is shown'),
    h('dd', null, h(Copied, { text: enforce })),
    h('dt', null, 'Put it back into dry run'),
    h('dd', null, h(Copied, { text: suspend })),
  )
}
