/**
 * Paths to the names of used objects: `volumes[].configMap.name`, `roleRef[kind=Role].name`,
 * `metadata.annotations["example.com/secret"]`. Where a list of names is, each of them.
 *
 * - `[]`: each element. `[KEY=VALUE]`: each element, or the mapping itself, with that value.
 * - `**`: each mapping at any depth.
 * - `@KEY` at the end: beside the name, the namespace. `@/`: the text is NAMESPACE/NAME, or a name.
 *   `@-`: in none. `@*`: in whatever namespace. `@PREFIX:`: the text is PREFIX:NAMESPACE:NAME, and
 *   any other names nothing.
 * - `=NAME`: where there is none, that name.
 * - `>FORM`: the name is that text, `{}` being what was read and `{name}` the user's own name.
 * - `$`: a text with a `$` is a template, by which any name may be made.
 *
 * What must stay true: a path names texts of a user, or it is refused where a rule is written.
 */
export interface UsePath {
  readonly steps: readonly UseStep[]
  /** The last of them. */
  readonly name: string
  readonly namespace: NamespaceAt
  readonly otherwise: string
  readonly form: string
  readonly isTemplate: boolean
}

export type UseStep =
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'each' }
  | { readonly type: 'below' }
  | { readonly type: 'where'; readonly name: string; readonly value: string }

/** `own`: it is that of the user. */
export type NamespaceAt =
  | { readonly type: 'own' | 'slash' | 'any' | 'none' }
  | { readonly type: 'beside'; readonly key: string }
  | { readonly type: 'prefix'; readonly prefix: string }

const MOST_LENGTH = 300
const MOST_STEPS = 24
const STEP =
  /^(?:\.?([A-Za-z][\w-]*)|\["([\w./-]+)"\]|(\[\])|\[([A-Za-z]\w*)=([\w.-]+)\]|\.?(\*\*)(?=\.))/
const WHOLE =
  /^((?:\[[^\]]*\]|[^@=>$[])+)(?:@([\w./:-]+|\*))?(?:=([a-z0-9.-]+))?(?:>([\w{}*.-]+))?(\$)?$/

/** Undefined for a text that is no path. */
export function readUsePath(text: string): UsePath | undefined {
  if (text.length > MOST_LENGTH || text.startsWith('.')) return undefined
  const [, path = '', at = '', otherwise = '', form = '', template = ''] = WHOLE.exec(text) ?? []
  const steps = stepsOf(path)
  const last = steps.pop()
  if (last?.type !== 'field') return undefined
  const namespace = namespaceAt(at)
  return { steps, name: last.name, namespace, otherwise, form, isTemplate: template !== '' }
}

/** None for a text that is no path. */
function stepsOf(path: string): UseStep[] {
  const steps: UseStep[] = []
  let rest = path
  while (rest !== '') {
    const [all = '', field, quoted, each, name, value = '', below] = STEP.exec(rest) ?? []
    if (all === '' || steps.length === MOST_STEPS) return []
    if (each !== undefined) steps.push({ type: 'each' })
    else if (below !== undefined) steps.push({ type: 'below' })
    else if (name !== undefined) steps.push({ type: 'where', name, value })
    else steps.push({ type: 'field', name: field ?? quoted ?? '' })
    rest = rest.slice(all.length)
  }
  // Each of two would search what the other one found.
  return steps.filter(({ type }) => type === 'below').length > 1 ? [] : steps
}

function namespaceAt(text: string): NamespaceAt {
  if (text === '') return { type: 'own' }
  if (text === '/') return { type: 'slash' }
  if (text === '*') return { type: 'any' }
  if (text === '-') return { type: 'none' }
  return text.endsWith(':') ? { type: 'prefix', prefix: text } : { type: 'beside', key: text }
}
