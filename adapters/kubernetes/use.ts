/**
 * Reads from an object the names of those that it uses, and nothing else of it.
 *
 * What must stay true: unknown is never unused. What is no name where one should be, or has to be
 * made by a template, may be any; names that are too long together are any.
 *
 * Not here: which names are read (core/model/use/use-table.ts), what a text of them means (use.ts
 * there).
 */
import type { Pair } from '../../core/model/object.ts'
import { ANY, textOfName, type UseRead } from '../../core/model/use/use.ts'
import { readUsePath, type UsePath, type UseStep } from '../../core/model/use/use-path.ts'
import { isJson, type Json } from './json.ts'

/** Characters of keys and values together are at most `room`, or of some any may be used. */
export function readUses(raw: Json, uses: readonly UseRead[], room: number): readonly Pair[] {
  let left = room - uses.reduce((sum, { key }) => sum + key.length + ANY_TEXT.length, 0)
  return uses.map(({ key, paths }) => {
    const names = [...new Set(paths.flatMap((path) => namesAt(raw, path)))].sort()
    const value = names.includes(ANY_TEXT) ? ANY_TEXT : names.join(',')
    const more = value.length - ANY_TEXT.length
    if (more > left) return { key, value: paths.some(mayReach) ? ANY_TEXT : ANY }
    left -= Math.max(0, more)
    return { key, value }
  })
}

/** Names of other namespaces, too. */
function mayReach(path: string): boolean {
  return path.includes('@')
}

/** In whatever namespace. */
const ANY_TEXT = `${ANY}/${ANY}`
/** Of a name, or of a namespace. */
const MOST_LENGTH = 253

function namesAt(raw: Json, text: string): readonly string[] {
  const path = pathOf(text)
  if (path === undefined) return [ANY_TEXT]
  return found([raw], path.steps).flatMap((parent) => {
    if (parent === undefined || parent === null) return []
    if (!isJson(parent)) return [ANY_TEXT]
    const name = own(parent, path.name) ?? ''
    if (typeof name !== 'string') return [ANY_TEXT]
    const given = name === '' ? path.otherwise : name
    return given === '' ? [] : [placeOf(raw, parent, path, given)]
  })
}

/** What a list is not, where a path goes into each of its elements, is kept: it is no mapping. */
function found(values: readonly unknown[], steps: readonly UseStep[]): readonly unknown[] {
  return steps.reduce<readonly unknown[]>(
    (all, step) => all.flatMap((each) => next(each, step)),
    values,
  )
}

function next(value: unknown, step: UseStep): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (step.type === 'field') return isJson(value) ? [own(value, step.name)] : [value]
  const elements = Array.isArray(value) ? value : [value]
  if (step.type === 'each') return elements
  return elements.filter((each) => !isJson(each) || own(each, step.name) === step.value)
}

function placeOf(raw: Json, parent: Json, path: UsePath, given: string): string {
  const [before = '', after] = given.split('/')
  const name = after ?? before
  const within = after === undefined ? own(parent, path.namespaceKey) : before
  const namespace = within === '' || within === null ? undefined : within
  if (!isName(name) || (namespace !== undefined && !isName(namespace))) return ANY_TEXT
  return textOfName(formed(raw, path, name), namespace)
}

function formed(raw: Json, { form }: UsePath, name: string): string {
  if (form === '') return name
  const metadata = raw['metadata']
  const user = isJson(metadata) ? metadata['name'] : undefined
  return form.replaceAll('{name}', `${user}`).replaceAll('{}', name)
}

/** A template, such as `${pvc.name}`, is none. */
function isName(value: unknown): value is string {
  return (
    typeof value === 'string' && value !== '' && value.length <= MOST_LENGTH && !value.includes('$')
  )
}

function own(value: Json, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

/** Of as many paths as rules have; each is read for every object. */
const PATHS = new Map<string, UsePath | undefined>()
const MOST_PATHS = 4_096

function pathOf(text: string): UsePath | undefined {
  if (PATHS.has(text)) return PATHS.get(text)
  if (PATHS.size >= MOST_PATHS) PATHS.clear()
  const path = readUsePath(text)
  PATHS.set(text, path)
  return path
}
