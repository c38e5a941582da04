/**
 * Approves or rejects what is shown, by its digest, with a reason and a confirmation that has to be
 * typed.
 *
 * What must stay true: who gives an order shows a token for it. The server takes none from a page
 * without one, so then there is the command instead.
 */
import { type ComponentChild, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { HeldPlan } from '../cli/answer.ts'
import { hasToken, type Order, order } from './base/ask.ts'
import { Copied } from './base/command.ts'
import { inText, lineOf, shellWord, timeText } from './base/text.ts'

export function Approval({
  plan,
  filling,
  onGiven,
}: {
  readonly plan: HeldPlan
  /** Whether anything is typed in. */
  readonly filling: (is: boolean) => void
  /** With what came of it. */
  readonly onGiven: (sentence: string) => void
}): ComponentChild {
  const { digest, cluster, approvals, first } = plan
  const scope = shellWord(cluster.scope)
  return h(
    'div',
    { class: 'approval' },
    approvals < 2
      ? null
      : h(
          'p',
          { class: 'notice' },
          first === null
            ? 'Two people have to approve it.'
            : `Approved by ${lineOf(first.who)} (${lineOf(first.why)}), valid until ${timeText(first.until)}${first.until === null ? '' : ` (${inText(first.until, Date.now())})`}. A second person has to approve it, too.`,
        ),
    digest === null
      ? h('p', null, 'No digest: this plan is incomplete, so it cannot be approved just now.')
      : [
          h('p', null, 'Digest: ', h('code', null, digest)),
          hasToken()
            ? h(Form, {
                key: digest,
                plan,
                digest,
                filling,
                done: onGiven,
              })
            : h(
                'p',
                null,
                'Approve it in a terminal. A page gives orders only where the server wants a token (--http-token-file), since any page in this browser could send one:',
              ),
          scope === undefined
            ? null
            : h(
                'p',
                null,
                h(Copied, { text: `kinfold approve ${digest} --cluster ${scope} --why '…'` }),
              ),
        ],
  )
}

function Form({
  plan: { cluster, total },
  digest,
  filling,
  done,
}: {
  readonly plan: HeldPlan
  readonly digest: string
  readonly filling: (is: boolean) => void
  readonly done: (sentence: string) => void
}): ComponentChild {
  const [typed, setTyped] = useState('')
  const [why, setWhy] = useState('')
  useEffect(() => filling(typed !== '' || why !== ''), [typed === '' && why === ''])
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState('')
  // A person who types it has read how many, and where.
  const expected = `${total} in ${lineOf(cluster.scope)}`
  const isReady = typed.trim() === expected && why.trim() !== '' && !isBusy
  const give = async (verb: Order['verb']): Promise<void> => {
    if (!isReady) return
    setBusy(true)
    setRefusal('')
    try {
      const { who, effective } = await order({
        verb,
        cluster: cluster.scope,
        digest,
        why: why.trim(),
      })
      done(`${verb === 'approve' ? 'Approved' : 'Rejected'} by ${who}. ${effective}`)
      setTyped('')
    } catch (error) {
      setRefusal((error as Error).message)
    } finally {
      setBusy(false)
    }
  }
  const textIn = (event: Event): string => (event.currentTarget as HTMLInputElement).value
  return h(
    'form',
    {
      onSubmit: (event: Event) => {
        event.preventDefault()
      },
    },
    h(
      'label',
      null,
      'Reason, which is recorded',
      h('input', {
        name: 'why',
        value: why,
        required: true,
        onInput: (e: Event) => setWhy(textIn(e)),
      }),
    ),
    h(
      'label',
      null,
      h('span', null, 'To confirm, type ', h('code', null, expected)),
      h('input', {
        ...{ name: 'confirmation', value: typed, autoComplete: 'off', spellcheck: false },
        onInput: (event: Event) => setTyped(textIn(event)),
      }),
    ),
    refusal === '' ? null : h('p', { class: 'notice bad', role: 'alert' }, lineOf(refusal)),
    h(
      'p',
      { class: 'tools' },
      h(
        'button',
        { type: 'button', class: 'danger', disabled: !isReady, onClick: () => give('approve') },
        `Approve: ${total} will be acted on`,
      ),
      h(
        'button',
        { type: 'button', disabled: !isReady, onClick: () => give('reject') },
        'Reject: keep them',
      ),
    ),
  )
}
