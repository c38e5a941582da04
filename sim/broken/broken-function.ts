/**
 * Where a function stands in a source text, as the formatter leaves it: whatever is in its body is
 * indented deeper than its first line.
 *
 * What must stay true: one place is found or none. A call, or the signature of an interface, is no
 * function.
 *
 * Not here: what is put in its place (broken-build.ts). The compiler has no parser that a load hook
 * could call.
 */

/**
 * Lines, counted from 0. `begin`: where its head ends with the brace of its body, which `end`
 * closes.
 */
export interface FoundFunction {
  readonly name: string
  readonly kind: 'function' | 'method' | 'arrow'
  readonly head: number
  readonly begin: number
  readonly end: number
}

type Lines = Pick<FoundFunction, 'head' | 'begin' | 'end'>

interface Span {
  readonly head: number
  readonly end: number
}

/**
 * The last of the path, each searched for in the one before it. Of several of a name, one inside of
 * others does not count.
 */
export function functionIn(lines: string[], path: string): FoundFunction | undefined {
  const names = path.split('.')
  const name = names.pop() ?? ''
  let span: Span = { head: -1, end: lines.length }
  for (const outer of names) {
    const found = only(placesIn(lines, span, outer))
    if (found === undefined) return undefined
    span = found
  }
  const found = only(placesIn(lines, span, name))
  return found?.kind === 'class' ? undefined : (found as FoundFunction | undefined)
}

function only(found: readonly Place[]): Place | undefined {
  const least = Math.min(...found.map(({ indent }) => indent))
  const [first, ...others] = found.filter(({ indent }) => indent === least)
  return others.length === 0 ? first : undefined
}

interface Place extends Omit<FoundFunction, 'kind'> {
  readonly kind: FoundFunction['kind'] | 'class'
  readonly indent: number
}

function placesIn(lines: string[], { head, end }: Span, name: string): readonly Place[] {
  const found: Place[] = []
  for (let at = head + 1; at < end; at++) {
    const kind = kindOf(lines[at] ?? '', name)
    const place = kind && placeOf(lines, at, kind)
    if (kind !== undefined && place !== undefined)
      found.push({ ...place, name, kind, indent: indentOf(lines[at] ?? '') })
  }
  return found
}

function kindOf(line: string, name: string): Place['kind'] | undefined {
  const begins = (text: string): boolean => new RegExp(`^\\s*(export )?${text}`).test(line)
  if (begins(`(async )?function\\*? ${name}[(<]`)) return 'function'
  if (begins(`class ${name}\\b`)) return 'class'
  if (begins(`(const ${name} = |${name}: )(async )?\\(`)) return 'arrow'
  return begins(`(static |async )*\\*?${name}[(<]`) ? 'method' : undefined
}

/** An arrow without braces gets them, in `lines`. */
function placeOf(lines: string[], head: number, kind: Place['kind']): Lines | undefined {
  const indent = indentOf(lines[head] ?? '')
  if (kind === 'arrow' && /=>$|=> [^{(]/.test(lines[head] ?? ''))
    return bracedAt(lines, head, indent)
  let begin = head
  for (let at = head + 1; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (line === '' || indentOf(line) > indent) continue
    if (indentOf(line) < indent) return undefined
    if (/^\s*\},?$/.test(line))
      return /\{$/.test(lines[begin] ?? '') ? { head, begin, end: at } : undefined
    if (!/^\s*(\)|\}).*\{$/.test(line)) return undefined
    begin = at
  }
  return undefined
}

function bracedAt(lines: string[], head: number, indent: number): Lines {
  const first = lines[head] ?? ''
  const arrow =
    first.lastIndexOf('=>', /=>$/.test(first) ? first.length : first.search(/=> [^{(]/)) + 2
  let end = head + 1
  while (end < lines.length && lines[end] !== '' && indentOf(lines[end] ?? '') > indent) end++
  const value = [first.slice(arrow), ...lines.slice(head + 1, end)].join('\n')
  lines.splice(head, end - head, `${first.slice(0, arrow)} {`, `return (${value})`, '}')
  return { head, begin: head, end: head + 2 }
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}
