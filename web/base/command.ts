/**
 * Commands about an object, to be copied into a terminal.
 *
 * What must stay true: a name is one word of its command, whatever is in it; where that cannot be,
 * the uid is, or there is no command.
 */
import { type ComponentChild, h } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { Cluster } from '../../cli/answer.ts'
import { kindText, type Named, shellWord } from './text.ts'

export interface Command {
  readonly what: string
  readonly text: string
}

export interface Subject extends Named {
  readonly uid: string
  readonly isThere: boolean
}

export function commandsOf(
  object: Subject,
  { scope, name: clusterName }: Pick<Cluster, 'scope' | 'name'>,
): readonly Command[] {
  const cluster = shellWord(scope)
  const context = shellWord(clusterName)
  const uid = shellWord(`uid:${object.uid}`)
  const name = shellWord(`${kindText(object)}/${object.name}`)
  const namespace = shellWord(object.namespace)
  const isNamed = object.isThere && name !== undefined && namespace !== undefined
  const within = object.namespace === '' ? '' : ` -n ${namespace}`
  const about = isNamed ? `${name}${within}` : uid
  if (about === undefined || cluster === undefined || context === undefined) return []
  const ask = (what: string, words: string): Command => {
    return { what, text: `kinfold ${words} ${about} --cluster ${cluster}` }
  }
  const now = object.isThere
    ? [ask('What would be deleted with it', 'plan delete'), ask('Its dependents', 'tree')]
    : []
  const live = isNamed
    ? [
        {
          what: 'As its cluster has it',
          text: `kubectl get ${name}${within} --context ${context} -o yaml`,
        },
      ]
    : []
  return [ask('Why', 'why'), ask('What happened to it', 'history'), ...now, ...live]
}

/**
 * It shows what would be created again; nothing is done without `--yes`. A namespace is in no
 * archive: it is made anew, so that what was in it can be restored.
 */
export function restoreOf(
  object: Omit<Subject, 'isThere'>,
  cluster: Pick<Cluster, 'name'>,
): readonly Command[] {
  const [uid, context] = [shellWord(`uid:${object.uid}`), shellWord(cluster.name)]
  if (object.group === '' && object.kind === 'Namespace') {
    const name = shellWord(object.name)
    if (name === undefined || context === undefined) return []
    const text = `kubectl create namespace ${name} --context ${context}`
    return [{ what: 'Create the namespace', text }]
  }
  if (uid === undefined || context === undefined) return []
  const text = `kinfold restore ${uid} --context ${context}`
  return [{ what: 'Restore: see what would be created again, if it is archived', text }]
}

export function Commands({ commands }: { readonly commands: readonly Command[] }): ComponentChild {
  if (commands.length === 0) {
    return h(
      'p',
      null,
      'No command can be copied: the name has characters that a terminal acts on.',
    )
  }
  return h(
    'dl',
    { class: 'commands' },
    commands.map(({ what, text }) => [h('dt', null, what), h('dd', null, h(Copied, { text }))]),
  )
}

/** Where a command without flags asks, unless its environment names another. */
const DEFAULT_HOST = '127.0.0.1:7070'

/**
 * With the endpoint that showed it: the user who pastes it means that one. The archive has none.
 */
function whole(words: string): string {
  const isAsking = /^kinfold (?!restore )/.test(words)
  const { host, origin, protocol } = globalThis.location
  const isDefault = host === DEFAULT_HOST && protocol === 'http:'
  return isAsking && !isDefault ? `${words} --server ${origin}` : words
}

export function Copied({ text: words }: { readonly text: string }): ComponentChild {
  const text = whole(words)
  const code = useRef<HTMLElement>(null)
  const [done, setDone] = useState('')
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      setDone('Copied.')
    } catch {
      // Browsers have a clipboard over HTTPS and on this machine only.
      if (code.current !== null) getSelection()?.selectAllChildren(code.current)
      setDone('Selected: copy it with your keyboard.')
    }
  }
  return h(
    'span',
    { class: 'copied' },
    h('code', { ref: code }, text),
    h('button', { type: 'button', onClick: copy, 'aria-label': `Copy: ${text}` }, 'Copy'),
    h('span', { role: 'status' }, done),
  )
}
