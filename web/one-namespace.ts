/**
 * For a person who may not see the whole graph: the form that names the one namespace to be shown.
 */
import { type ComponentChild, h } from 'preact'
import type { Answered } from './base/answer.ts'
import { TextField, textsIn } from './base/field.ts'
import { Section } from './base/frame.ts'
import { goTo } from './base/place.ts'

/** Nothing, unless `asked` was refused for lack of a right. */
export function OneNamespace({
  asked: { isDenied },
  cluster,
}: {
  readonly asked: Pick<Answered<unknown>, 'isDenied'>
  readonly cluster: string
}): ComponentChild {
  if (!isDenied) return null
  const submit = (event: Event): void => {
    event.preventDefault()
    const text = textsIn(event.currentTarget as HTMLFormElement)
    goTo('namespace', { cluster: text('cluster'), namespace: text('namespace') })
  }
  const field = (name: string, label: string, value = ''): ComponentChild =>
    h(TextField, { ...{ name, label, value, hint: '' }, isRequired: true })
  return h(Section, {
    title: 'One namespace',
    note: 'What you may list in a namespace is shown without the right to see the whole graph.',
    children: h(
      'form',
      { class: 'search', onSubmit: submit },
      field('cluster', 'Cluster', cluster),
      field('namespace', 'Namespace'),
      h('button', { type: 'submit', class: 'main' }, 'Show'),
    ),
  })
}
