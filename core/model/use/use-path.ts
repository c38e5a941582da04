/**
 * Paths to the names of used objects: `volumes[].configMap.name`, `roleRef[kind=Role].name`,
 * `metadata.annotations["example.com/secret"]`.
 *
 * - `[]`: each element. `[KEY=VALUE]`: each element, or the mapping itself, with that value.
 * - `@KEY` at the end: beside the name, the namespace. `=NAME`: where there is none, that name.
 * - `>FORM`: the name is that text, `{}` being what was read and `{name}` the user's own name.
 *
 * What must stay true: a path names texts of a user, or it is refused where a rule is written.
 */
export interface UsePath {
  readonly steps: readonly UseStep[]
  /** The last of them. */
  readonly name: string
  /** Empty: none. */
  readonly namespaceKey: string
  readonly otherwise: string
  readonly form: string
}

export type UseStep =
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'each' }
  | { readonly type: 'where'; readonly name: string; readonly value: string }

const MOST_LENGTH = 300
const MOST_STEPS = 24
const STEP = /^(?:\.?([A-Za-z][\w-]*)|\["([\w./-]+)"\]|(\[\])|\[([A-Za-z]\w*)=([\w.-]+)\])/

/** Undefined for a text that is no path. */
export function readUsePath(text: string): UsePath | undefined {
  if (text.length > MOST_LENGTH || text.startsWith('.')) return undefined
  const [, path = '', namespaceKey = '', otherwise = '', form = ''] =
    /^((?:\[[^\]]*\]|[^@=>[])+)(?:@([\w./-]+))?(?:=([a-z0-9.-]+))?(?:>([\w{}*.-]+))?$/.exec(text) ??
    []
  const steps: UseStep[] = []
  let rest = path
  while (rest !== '') {
    const [all = '', field, quoted, each, name, value = ''] = STEP.exec(rest) ?? []
    if (all === '' || steps.length === MOST_STEPS) return undefined
    if (each !== undefined) steps.push({ type: 'each' })
    else if (name !== undefined) steps.push({ type: 'where', name, value })
    else steps.push({ type: 'field', name: field ?? quoted ?? '' })
    rest = rest.slice(all.length)
  }
  const last = steps.pop()
  if (last?.type !== 'field') return undefined
  return { steps, name: last.name, namespaceKey, otherwise, form }
}
