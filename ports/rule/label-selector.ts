/**
 * A label selector as kubectl takes it (`preview=true,tier in (a,b),!keep`), as terms of a rule.
 *
 * What must stay true: what kubectl refuses is refused here, and the terms select what the API
 * server would select by the text. Comparisons of numbers (`<`, `>`) are refused, since no rule has
 * them.
 */
import type { Term } from '../../core/model/rule/rule.ts'
import { bad } from './setting.ts'

const MOST_LENGTH = 4_096
const TOKEN = /\s*(?:([^\s,!=()<>]+)|(==|!=|[=!(),<>]))/y
/** A key is a name, and before it perhaps a DNS subdomain and a slash. */
const NAME = /^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/
const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const VALUE = /^([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/

export function isLabelKey(text: string): boolean {
  const slash = text.indexOf('/')
  return NAME.test(text.slice(slash + 1)) && (slash < 0 || DOMAIN.test(text.slice(0, slash)))
}

/** The same in any case. */
export function isAnnotationKey(text: string): boolean {
  return isLabelKey(text.toLowerCase())
}

export function labelTerms(text: string, from: string): readonly Term[] {
  const refuse = (why: string): never => {
    throw bad(`${from}: ${JSON.stringify(text.slice(0, 200))} is no label selector: ${why}`)
  }
  if (text.length > MOST_LENGTH) refuse(`it has more than ${MOST_LENGTH} characters`)
  const tokens = tokensOf(text) ?? refuse('it has a character that none can have')
  const reader: Reader = { tokens, at: 0, refuse }
  const terms = [termOf(reader)]
  while (take(reader) === ',') terms.push(termOf(reader))
  if (reader.at <= tokens.length) refuse(`expected "," before ${shown(tokens[reader.at - 1])}`)
  return terms
}

interface Reader {
  readonly tokens: readonly string[]
  /** Of the next token. */
  at: number
  readonly refuse: (why: string) => never
}

/** Undefined where a character belongs to none. */
function tokensOf(text: string): readonly string[] | undefined {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  while (text.slice(TOKEN.lastIndex).trim() !== '') {
    const [, word, sign] = TOKEN.exec(text) ?? []
    const token = word ?? sign
    if (token === undefined) return undefined
    tokens.push(token)
  }
  return tokens
}

function take(reader: Reader): string | undefined {
  return reader.tokens[reader.at++]
}

function termOf(reader: Reader): Term {
  const first = take(reader)
  if (first === '!') return { key: keyOf(reader, take(reader)), operator: 'absent', values: [] }
  const key = keyOf(reader, first)
  const sign = reader.tokens[reader.at]
  if (sign === undefined || sign === ',') return { key, operator: 'exists', values: [] }
  reader.at++
  switch (sign) {
    case '=':
    case '==':
      return { key, operator: 'in', values: [oneValue(reader)] }
    case '!=':
      return { key, operator: 'not-in', values: [oneValue(reader)] }
    case 'in':
      return { key, operator: 'in', values: valuesIn(reader) }
    case 'notin':
      return { key, operator: 'not-in', values: valuesIn(reader) }
    case '<':
    case '>':
      return reader.refuse('a rule compares no numbers')
    default:
      return reader.refuse(`expected =, !=, in or notin before ${shown(sign)}`)
  }
}

function keyOf({ refuse }: Reader, token: string | undefined): string {
  if (token === undefined) return refuse('expected the key of a label at its end')
  return isLabelKey(token) ? token : refuse(`${shown(token)} is no key of a label`)
}

/** None written is the empty one. */
function oneValue(reader: Reader): string {
  const next = reader.tokens[reader.at]
  if (next === undefined || next === ',') return ''
  reader.at++
  return labelValue(reader, next)
}

/** In brackets; none written between two commas is the empty one. */
function valuesIn(reader: Reader): readonly string[] {
  if (take(reader) !== '(') return reader.refuse('expected "(" after in and notin')
  const values = new Set<string>()
  for (;;) {
    const next = take(reader)
    if (next === ',' || next === ')') values.add('')
    else values.add(labelValue(reader, next))
    const end = next === ',' || next === ')' ? next : take(reader)
    if (end === ')') return [...values]
    if (end !== ',') return reader.refuse(`expected "," or ")" before ${shown(end)}`)
  }
}

function labelValue({ refuse }: Reader, token: string | undefined): string {
  if (token !== undefined && VALUE.test(token)) return token
  return refuse(`${shown(token)} is no value of a label`)
}

function shown(token: string | undefined): string {
  return token === undefined ? 'its end' : JSON.stringify(token.slice(0, 100))
}
