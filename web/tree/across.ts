/**
 * What marks of tools name as managed by an object, and what names it as its owner by
 * `kinfold.io/owner`, or did, in all clusters: below its dependents, below a plan with what names
 * the objects that would go with it, and beside who deleted it.
 *
 * What must stay true: it is said to be seen by marks, apart from owner references and from what a
 * plan counts, and that the tool decides, or a rule. Where nothing is marked there is nothing to
 * see.
 */
import { type ComponentChild, h } from 'preact'
import type { Across, AcrossPartDocument as Part } from '../../cli/answer.ts'
import { FAR_TOOL, marksText, mayManage, phaseText } from '../../services/graph/api/word.ts'
import { REFRESH_MS, useAnswer } from '../base/answer.ts'
import { ask } from '../base/ask.ts'
import { type Chip, Chips } from '../base/chip.ts'
import { Copied } from '../base/command.ts'
import { Doubt, Section } from '../base/frame.ts'
import { linkTo } from '../base/place.ts'
import { clusterText, countOf, lineOf, nameText, shellWord } from '../base/text.ts'

/** Of the page. */
const MOST_LISTED = '500'
/** Of an application with more objects it is asked for once, and again with the page. */
const MOST_REFRESHED = 2_000

interface Subject {
  readonly object: {
    readonly group: string
    readonly kind: string
    readonly namespace: string
    readonly name: string
    readonly uid: string
  }
  /** As a question takes it. */
  readonly cluster: string
  /** Uids of what would go with it, with commas between. */
  readonly along?: string | undefined
  /** What named it and is gone since then, too. */
  readonly goneSince?: string | undefined
}

export function AcrossSection(subject: Subject): ComponentChild {
  const { object, along } = subject
  // No owner in another cluster is without a namespace.
  const mayHave = mayManage(object.group) || object.namespace !== '' || along !== undefined
  return mayHave ? h(Marked, subject) : null
}

function Marked({ object, cluster, ...more }: Subject): ComponentChild {
  const { group, namespace, name, uid } = object
  const one = { kind: wordOf(object), name, namespace, uid, cluster }
  const query = { ...one, ...more, limit: MOST_LISTED }
  const asked = useAnswer(
    JSON.stringify(['across', query]),
    async (signal) => await ask('/v1/across', query, signal),
    // Most objects are named nowhere: these are asked about once, and again with the page.
    (last) => {
      const isNone = !mayManage(group) && last !== undefined && isEmpty(last)
      return isNone || (last?.marked ?? 0) > MOST_REFRESHED ? 0 : REFRESH_MS
    },
  )
  const { answer } = asked
  if (answer === undefined || isEmpty(answer)) return null
  const { parts, gone, along, partial } = answer
  const isOwn = parts.length + gone.length > 0
  return h(Section, {
    title: parts.every(isFar)
      ? 'Owner of objects in other clusters'
      : 'Managed across clusters, seen by marks',
    children: [
      h(Doubt, { partial }),
      isOwn ? h('p', { class: 'verdict' }, sentenceOf(answer)) : null,
      h(
        'ul',
        { class: 'owners' },
        gone.map((row) => h('li', null, h(OneGone, { row }))),
        parts.map((part) => h('li', null, h(OneCluster, { part }))),
      ),
      parts.length === 0 ? null : h('p', null, h(Copied, { text: commandOf(object, cluster) })),
      along.length === 0 ? null : h(Along, { along }),
    ],
  })
}

function isEmpty({ parts, gone, along }: Across): boolean {
  return parts.length + gone.length + along.length === 0
}

function Along({ along }: Pick<Across, 'along'>): ComponentChild {
  return h(
    'div',
    null,
    h('p', { class: 'verdict' }, 'What goes with it has dependents in other clusters, too.'),
    h(
      'ul',
      { class: 'owners' },
      along.map((part) => h('li', null, h(OneCluster, { part, isOfOther: true }))),
    ),
  )
}

function OneGone({ row }: { readonly row: Across['gone'][number] }): ComponentChild {
  const { cluster, gone, dependents, left, because, objects } = row
  const owned = dependents === 0 ? '' : ` and ${countOf(dependents, 'dependent')}`
  const stays = left === 0 ? '' : `; ${countOf(left, 'dependent')} of these still there`
  const more = gone - objects.length
  return h(
    'div',
    null,
    h('b', null, `Cluster ${clusterText(cluster)}`),
    `: ${countOf(gone, 'object')}${owned} deleted`,
    h('div', { class: 'quiet' }, `${lineOf(because)}${stays}`),
    h(
      'ul',
      null,
      objects.map((object) => h('li', null, h(Linked, { object, cluster: cluster.scope }))),
    ),
    more > 0 ? h('p', { class: 'quiet' }, `${countOf(more, 'object')} more`) : null,
  )
}

function Linked({ object, cluster }: Pick<Subject, 'object' | 'cluster'>): ComponentChild {
  const href = linkTo('object', { cluster, uid: object.uid })
  return [
    h('a', { href }, h('bdi', null, nameText(object))),
    object.namespace === '' ? '' : ` in ${lineOf(object.namespace)}`,
  ]
}

function isFar({ manager }: Part): boolean {
  return manager.tool === FAR_TOOL
}

function wordOf({ group, kind }: Subject['object']): string {
  return group === '' ? kind : `${kind}.${group}`
}

function sentenceOf({ text, parts }: Across): string {
  const said = lineOf(text)
  const sentence = `${said.slice(0, 1).toUpperCase()}${said.slice(1)}.`
  return parts.length === 0 ? sentence : `${sentence} ${marksText(parts)}`
}

function commandOf(object: Subject['object'], cluster: string): string {
  const { namespace, name } = object
  const at = namespace === '' ? '' : ` -n ${shellWord(namespace)}`
  const what = shellWord(`${wordOf(object)}/${name}`)
  return `kinfold tree --across ${what}${at} --cluster ${shellWord(cluster)}`
}

interface OfCluster {
  readonly part: Part
  /** Of an object that goes with it, which is named. */
  readonly isOfOther?: boolean
}

function OneCluster({ part, isOfOther = false }: OfCluster): ComponentChild {
  const { cluster, manager, marked, dependents, deletes, because, objects } = part
  const owned = dependents === 0 ? '' : ` and ${countOf(dependents, 'dependent')}`
  const chips: Chip[] = [
    {
      text: isFar(part) ? 'by kinfold.io/owner' : `by the mark of ${lineOf(manager.toolName)}`,
      tone: 'quiet',
    },
    {
      text: (isFar(part) ? FAR_DELETES : DELETES)[deletes],
      tone: deletes === 'managed' ? 'warm' : 'quiet',
    },
  ]
  const more = marked - objects.length
  return h(
    'div',
    null,
    h('b', null, `Cluster ${clusterText(cluster)}`),
    `: ${countOf(marked, 'object')}${owned} `,
    isOfOther ? ['of ', h('bdi', null, ownerText(manager)), ' '] : null,
    h(Chips, { chips }),
    h('div', { class: 'quiet' }, lineOf(because)),
    h(
      'ul',
      null,
      objects.map((object) =>
        h(
          'li',
          null,
          h(Linked, { object, cluster: cluster.scope }),
          ' ',
          h(Chips, { chips: chipsOf(object) }),
        ),
      ),
    ),
    more > 0 ? h('p', { class: 'quiet' }, `${countOf(more, 'object')} more`) : null,
  )
}

function ownerText({ kind, namespace, name }: Part['manager']): string {
  return lineOf(`${kind ?? ''}/${name} in ${namespace ?? ''}`)
}

const DELETES: Readonly<Record<Part['deletes'], string>> = {
  managed: 'deleted with it by its tool',
  nothing: 'nothing is deleted with it',
  unknown: 'not known what is deleted with it',
}

const FAR_DELETES: typeof DELETES = {
  managed: 'deleted after it by a rule',
  nothing: 'not deleted after it now',
  unknown: 'not known whether it is there',
}

function chipsOf({ phase, isKept }: Part['objects'][number]): readonly Chip[] {
  return [
    ...(phase === 'observed' ? [] : [{ text: phaseText(phase), tone: 'warm' } as const]),
    ...(isKept ? [{ text: 'kept by a mark', tone: 'good' } as const] : []),
  ]
}
