/**
 * Fields of the forms that ask about objects. What must stay true: a cluster that is asked about
 * can be chosen even where the list of clusters is refused.
 */
import { type ComponentChild, h } from 'preact'
import { useAnswer } from './answer.ts'
import { ask } from './ask.ts'
import { clusterText, lineOf } from './text.ts'

export interface FieldProps {
  readonly name: string
  readonly label: string
  readonly value: string
  readonly hint: string
  readonly isRequired?: boolean
}

export function TextField(props: FieldProps): ComponentChild {
  const { name, label, value, hint, isRequired = false } = props
  return h(
    'label',
    null,
    label,
    h('input', {
      ...{ name, defaultValue: value, placeholder: hint, required: isRequired },
      ...{ autoComplete: 'off', spellcheck: false },
    }),
  )
}

export function ClusterField({ value }: { readonly value: string }): ComponentChild {
  const { answer } = useAnswer('clusters', async (signal) => await ask('/v1/clusters', {}, signal))
  const known = answer?.clusters ?? []
  const isKnown = value === '' || known.some(({ cluster }) => cluster.scope === value)
  return h(
    'label',
    null,
    'Cluster',
    h(
      'select',
      { name: 'cluster' },
      h('option', { value: '' }, 'all'),
      isKnown ? null : h('option', { value, selected: true }, lineOf(value)),
      known.map(({ cluster }) =>
        h(
          'option',
          { value: cluster.scope, selected: cluster.scope === value },
          clusterText(cluster),
        ),
      ),
    ),
  )
}

/** What was typed into a form, without spaces around it. */
export function textsIn(form: HTMLFormElement): (name: string) => string {
  const data = new FormData(form)
  return (name) => String(data.get(name) ?? '').trim()
}
