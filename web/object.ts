/**
 * One object: what is to become of it and why, its owners above, its dependents below, and how it
 * came to this.
 *
 * What must stay true: it is known by its cluster and uid, so another object of the same name is
 * never shown in its place.
 */
import { type ComponentChild, h } from 'preact'
import { useState } from 'preact/hooks'
import type { Why } from '../cli/answer.ts'
import { evidenceText, phaseText, recordedText, verdictText } from '../services/graph/api/word.ts'
import { REFRESH_MS, useAnswer } from './base/answer.ts'
import { ask } from './base/ask.ts'
import { type Chip, Chips } from './base/chip.ts'
import { Commands, commandsOf } from './base/command.ts'
import { Notice, Section, When } from './base/frame.ts'
import { linkTo, type Place } from './base/place.ts'
import { clusterText, kindText, lineOf, momentText, nameText } from './base/text.ts'
import { DeletedObject } from './deleted.ts'
import { orphanedPhrases } from './deletion-text.ts'
import { ObjectTabs } from './object-tabs.ts'
import { Phrases } from './record/who.ts'
import { AcrossSection } from './tree/across.ts'
import { ObjectTree } from './tree/object-tree.ts'

const NEWEST = 50

export function ObjectView({ words }: Pick<Place, 'words'>): ComponentChild {
  const { uid, cluster, kind, name, namespace } = words
  const query = { uid, cluster, kind, name, namespace }
  const load = async (signal: AbortSignal): Promise<Why> => await ask('/v1/why', query, signal)
  const asked = useAnswer(JSON.stringify(query), load, REFRESH_MS)
  const why = asked.answer
  return h(
    'div',
    null,
    why === undefined ? h('h1', null, 'Object') : h(Heading, { why }),
    h(Notice, { asked }),
    why === undefined ? null : h(Details, { why }),
  )
}

function Heading({ why: { object, cluster, phase } }: { readonly why: Why }): ComponentChild {
  const place = [object.namespace, `cluster ${clusterText(cluster)}`].filter((each) => each !== '')
  return h(
    'header',
    { class: 'about' },
    h('p', { class: 'quiet' }, `${lineOf(kindText(object))} in ${place.map(lineOf).join(', ')}`),
    h('h1', null, h('bdi', null, nameText(object))),
    h(ObjectTabs, {
      ...{ uid: object.uid, cluster: cluster.scope, current: 'object' },
      ...{ phase, namespace: object.namespace },
    }),
  )
}

function Details({ why }: { readonly why: Why }): ComponentChild {
  const { object, cluster, phase, references, verdict, admission } = why
  const scope = cluster.scope
  const root = {
    ...object,
    phase: phase ?? 'gone',
    createdAt: null,
    verdict,
    admission,
    edge: null,
  }
  const more = h(
    'div',
    null,
    h(Section, { title: 'Why: what happened', children: h(Timeline, { history: why.history }) }),
    h(Section, {
      title: 'Commands',
      children: h(Commands, {
        commands: commandsOf({ ...object, isThere: phase !== null }, cluster),
      }),
    }),
    why.others.length === 0 ? null : h(Others, { why }),
  )
  if (phase === null) return h(DeletedObject, { key: object.uid, why, more })
  return h(
    'div',
    { class: 'columns' },
    h(
      'div',
      null,
      h(Section, { title: 'Kept or deleted, and why', children: h(Verdict, { why }) }),
      h(Section, {
        title: 'Owners',
        children:
          references.length === 0
            ? h('p', null, 'It has no owner references.')
            : h(Owners, { why }),
      }),
      why.managers.length === 0 ? null : h(Managers, { managers: why.managers }),
      why.elsewhere.length === 0 ? null : h(Elsewhere, { elsewhere: why.elsewhere }),
      h(Section, {
        title: 'Dependents',
        children: h(ObjectTree, { key: object.uid, object: root, cluster: scope }),
      }),
      h(AcrossSection, { key: `across ${object.uid}`, object, cluster: scope }),
    ),
    more,
  )
}

function Verdict({ why }: { readonly why: Why }): ComponentChild {
  const { phase, verdict, admission, attempt, obstacle, asOwner, orphaned } = why
  const chips: Chip[] = [
    { text: phaseText(phase ?? 'gone'), tone: phase === 'observed' ? 'good' : 'warm' },
  ]
  if (verdict !== null) {
    chips.push({ text: verdictText(verdict.type), tone: verdict.type === 'keep' ? 'good' : 'warm' })
    if (verdict.evidence !== null)
      chips.push({ text: `evidence: ${verdict.evidence}`, tone: 'quiet' })
  }
  if (admission !== null) chips.push({ text: `held by ${admission.by}`, tone: 'warm' })
  const rests = verdict === null || verdict.basis.length === 0 ? '' : verdict.basis.join(', ')
  return h(
    'div',
    null,
    h(Chips, { chips }),
    orphaned === null
      ? null
      : h(
          'p',
          { class: 'verdict' },
          h(Phrases, {
            phrases: orphanedPhrases(orphaned, why, Date.now()),
            cluster: why.cluster.scope,
          }),
        ),
    h('p', { class: 'verdict' }, verdictSentence(why)),
    obstacle === null
      ? null
      : h(
          'p',
          { class: 'notice warm' },
          `Prevented (${obstacle.by}): ${lineOf(obstacle.reason)}`,
          obstacle.until === null ? '' : `; tried again ${momentText(obstacle.until, Date.now())}`,
        ),
    attempt === null
      ? null
      : h(
          'p',
          { class: 'quiet' },
          `Last command: ${attempt.verb} ${attempt.command}, ${attempt.state}${attempt.outcome === null ? '' : `, outcome ${attempt.outcome}`}${attempt.reason === '' ? '' : `: ${lineOf(attempt.reason)}`}.`,
        ),
    asOwner?.proof == null
      ? null
      : h(
          'p',
          { class: 'quiet' },
          `As an owner it is ${asOwner.state}: ${evidenceText(asOwner.proof.evidence)}, ${momentText(asOwner.proof.at, Date.now())} (event ${asOwner.proof.position}).`,
        ),
    rests === '' ? null : h('p', { class: 'quiet' }, `Because of events ${rests}.`),
  )
}

function verdictSentence({ verdict, references }: Why): string {
  if (verdict !== null) return `${capital(lineOf(verdict.because))}.`
  if (references.length === 0) return 'It has no owners, so nothing is decided about it.'
  return 'Nothing is decided about it yet.'
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

function Owners({ why: { references, cluster } }: { readonly why: Why }): ComponentChild {
  return h(
    'ul',
    { class: 'owners' },
    references.map((each) => {
      const { uid, standing, reason, controller, blockOwnerDeletion } = each
      const tone = standing === 'solid' ? 'good' : 'warm'
      const chips: Chip[] = standing === null ? [] : [{ text: standing, tone }]
      if (controller === true) chips.push({ text: 'controller', tone: 'quiet' })
      if (blockOwnerDeletion === true) chips.push({ text: 'blocking', tone: 'quiet' })
      return h(
        'li',
        null,
        h(
          'a',
          { href: linkTo('object', { cluster: cluster.scope, uid }) },
          h('bdi', null, nameText(each)),
        ),
        ' ',
        h(Chips, { chips }),
        reason === '' ? null : h('div', { class: 'quiet' }, lineOf(reason)),
      )
    }),
  )
}

/** Of other tools: a mark is no owner reference. */
function Managers({ managers }: Pick<Why, 'managers'>): ComponentChild {
  return h(Section, {
    title: 'Managed by',
    children: h(
      'ul',
      { class: 'owners' },
      managers.map(({ toolName, kind, namespace, name, mark }) =>
        h(
          'li',
          null,
          h('bdi', null, lineOf(`${kind ?? 'claim'}/${name}`)),
          namespace ? ` in ${lineOf(namespace)} ` : ' ',
          h(Chips, { chips: [{ text: lineOf(toolName), tone: 'quiet' }] }),
          h('div', { class: 'quiet' }, `As the ${lineOf(mark)} says; it is no owner reference.`),
        ),
      ),
    ),
  })
}

function Elsewhere({ elsewhere }: Pick<Why, 'elsewhere'>): ComponentChild {
  return h(Section, {
    title: 'Owner in another cluster',
    children: h(
      'ul',
      { class: 'owners' },
      elsewhere.map(({ owner, rule, state, because }) =>
        h(
          'li',
          null,
          h(
            'a',
            { href: linkTo('object', { cluster: owner.cluster.scope, uid: owner.uid }) },
            h('bdi', null, nameText(owner)),
          ),
          ` in ${lineOf(owner.namespace)}, cluster ${clusterText(owner.cluster)} `,
          h(Chips, { chips: [{ text: state, tone: state === 'deleted' ? 'warm' : 'quiet' }] }),
          h('div', { class: 'quiet' }, lineOf(`By rule ${rule}: ${because}`)),
        ),
      ),
    ),
  })
}

function Timeline({ history }: { readonly history: Why['history'] }): ComponentChild {
  const [isAll, setAll] = useState(false)
  if (history.length === 0) return h('p', null, 'Nothing is recorded of it.')
  const shown = isAll ? history : history.slice(-NEWEST)
  return h(
    'div',
    null,
    shown.length === history.length
      ? null
      : h(
          'button',
          { type: 'button', onClick: () => setAll(true) },
          `Show ${history.length - shown.length} earlier`,
        ),
    h(
      'ol',
      { class: 'timeline', 'aria-label': 'What happened', tabIndex: 0 },
      shown.map(({ change, text, admission, at, partition, position, command }) =>
        h(
          'li',
          null,
          h(When, { at }),
          h('span', { class: 'chip quiet' }, change === 'gone' ? 'deleted' : change),
          h('span', null, lineOf(recordedText(text, admission))),
          h(
            'span',
            { class: 'position', title: 'Partition and offset in the log' },
            `${partition}-${position}`,
          ),
          command === null ? null : h('span', { class: 'position' }, `command ${lineOf(command)}`),
        ),
      ),
    ),
  )
}

function Others({ why }: { readonly why: Why }): ComponentChild {
  return h(Section, {
    title: 'Others of this name',
    children: h(
      'ul',
      null,
      why.others.map(({ cluster, uid, isThere, at }) =>
        h(
          'li',
          null,
          h('a', { href: linkTo('object', { cluster: cluster.scope, uid }) }, lineOf(uid)),
          ` in cluster ${clusterText(cluster)}, ${isThere ? 'exists' : `deleted ${momentText(at, Date.now())}`}`,
        ),
      ),
    ),
  })
}
