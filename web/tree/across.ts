/**
 * What marks of tools name as managed by an object, and what names it as its owner by
 * `kinfold.io/owner`, in all clusters: below its dependents, and below a plan.
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
}

export function AcrossSection(subject: Subject): ComponentChild {
  const { group, namespace } = subject.object
  // No owner in another cluster is without a namespace.
  return mayManage(group) || namespace !== '' ? h(Marked, subject) : null
}

function Marked({ object, cluster }: Subject): ComponentChild {
  const { group, namespace, name, uid } = object
  const query = { kind: wordOf(object), name, namespace, uid, cluster, limit: MOST_LISTED }
  const asked = useAnswer(
    JSON.stringify(['across', query]),
    async (signal) => await ask('/v1/across', query, signal),
    // Most objects are named nowhere: these are asked about once, and again with the page.
    (last) => {
      const isNone = !mayManage(group) && last?.parts.length === 0
      return isNone || (last?.marked ?? 0) > MOST_REFRESHED ? 0 : REFRESH_MS
    },
  )
  const { answer } = asked
  if (answer === undefined || answer.parts.length === 0) return null
  return h(Section, {
    title: answer.parts.every(isFar)
      ? 'Owner of objects in other clusters'
      : 'Managed across clusters, seen by marks',
    children: [
      h(Doubt, { partial: answer.partial }),
      h('p', { class: 'verdict' }, sentenceOf(answer)),
      h(
        'ul',
        { class: 'owners' },
        answer.parts.map((part) => h('li', null, h(OneCluster, { part }))),
      ),
      h('p', null, h(Copied, { text: commandOf(object, cluster) })),
    ],
  })
}

function isFar({ manager }: Part): boolean {
  return manager.tool === FAR_TOOL
}

function wordOf({ group, kind }: Subject['object']): string {
  return group === '' ? kind : `${kind}.${group}`
}

function sentenceOf({ text, parts }: Across): string {
  const said = lineOf(text)
  return `${said.slice(0, 1).toUpperCase()}${said.slice(1)}. ${marksText(parts)}`
}

function commandOf(object: Subject['object'], cluster: string): string {
  const { namespace, name } = object
  const at = namespace === '' ? '' : ` -n ${shellWord(namespace)}`
  const what = shellWord(`${wordOf(object)}/${name}`)
  return `kinfold tree --across ${what}${at} --cluster ${shellWord(cluster)}`
}

function OneCluster({ part }: { readonly part: Part }): ComponentChild {
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
    h(Chips, { chips }),
    h('div', { class: 'quiet' }, lineOf(because)),
    h(
      'ul',
      null,
      objects.map((object) =>
        h(
          'li',
          null,
          h(
            'a',
            { href: linkTo('object', { cluster: cluster.scope, uid: object.uid }) },
            h('bdi', null, nameText(object)),
          ),
          object.namespace === '' ? '' : ` in ${lineOf(object.namespace)}`,
          ' ',
          h(Chips, { chips: chipsOf(object) }),
        ),
      ),
    ),
    more > 0 ? h('p', { class: 'quiet' }, `${countOf(more, 'object')} more`) : null,
  )
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
