/**
 * Takes the token that questions and orders carry.
 *
 * What must stay true: it is in no address and no storage that outlives the tab (ask.ts).
 */
import { type ComponentChild, h } from 'preact'
import { useState } from 'preact/hooks'
import { ask, forgetToken, keepToken, Refusal } from './base/ask.ts'

const UNKNOWN = 401

export function Login({ done }: { readonly done: () => void }): ComponentChild {
  const [wrong, setWrong] = useState('')
  const submit = (event: Event): void => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const token = String(new FormData(form).get('token') ?? '').trim()
    void tried(token)
  }
  const tried = async (token: string): Promise<void> => {
    if (!keepToken(token)) return setWrong('A token is one word of printable characters.')
    try {
      await ask('/v1/clusters', {})
    } catch (error) {
      if (error instanceof Refusal && error.status === UNKNOWN) {
        forgetToken()
        return setWrong('The server does not know this token.')
      }
      // It is known, and may see less; or the view says what is wrong with the server.
    }
    done()
  }
  return h(
    'form',
    { class: 'login', onSubmit: submit, 'aria-labelledby': 'login-title' },
    h('h1', { id: 'login-title' }, 'Log in'),
    h('p', { role: 'alert' }, 'This server answers only who shows a token that it knows.'),
    h(
      'label',
      null,
      'Token',
      h('input', {
        type: 'password',
        name: 'token',
        autoComplete: 'off',
        required: true,
        autoFocus: true,
      }),
    ),
    wrong === '' ? null : h('p', { class: 'notice bad', role: 'alert' }, wrong),
    h(
      'p',
      { class: 'quiet' },
      'One of the token file of the server or, where a cluster says who somebody is, one of yours: ',
      h('code', null, 'kubectl create token NAME --audience kinfold'),
      '. It is forgotten when this tab is closed.',
    ),
    h('button', { type: 'submit', class: 'main' }, 'Log in'),
  )
}
