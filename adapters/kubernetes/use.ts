/**
 * Reads from an object the names of those that it uses, and nothing else of it.
 *
 * What must stay true: unknown is never unused. What is no text where a name should be, or has to
 * be made by a template, may be any; names that are too long together are any. Any other text is a
 * name as it stands, and no wildcard: no tenant can make what others use unknown by one.
 *
 * Not here: which names are read (core/model/use/use-table.ts), what a text of them means (use.ts
 * there).
 */
import type { Pair } from '../../core/model/object.ts'
import { ANY, literalName, textOfName, type UseRead } from '../../core/model/use/use.ts'
import { readUsePath, type UsePath, type UseStep } from '../../core/model/use/use-path.ts'
import { isJson, type Json } from './json.ts'

/** Characters of keys and values together are at most `room`, or of some any may be used. */
export function readUses(raw: Json, uses: readonly UseRead[], room: number): readonly Pair[] {
  let left = room - uses.reduce((sum, { key }) => sum + key.length + ANY_TEXT.length, 0)
  return uses.map(({ key, paths }) => {
    const names = [...new Set(paths.flatMap((path) => namesAt(raw, path)))].sort()
    const value = names.includes(ANY_TEXT) ? ANY_TEXT : names.join(',')
    const more = value.length - ANY_TEXT.length
    if (more > left) return { key, value: names.some(isElsewhere) ? ANY_TEXT : ANY }
    left -= Math.max(0, more)
    return { key, value }
  })
}

/** A slash in a name is written otherwise. */
function isElsewhere(name: string): boolean {
  return name.includes('/')
}

/** In whatever namespace. */
const ANY_TEXT = `${ANY}/${ANY}`

function namesAt(raw: Json, text: string): readonly string[] {
  const path = pathOf(text)
  if (path === undefined) return [ANY_TEXT]
  return found([raw], path.steps).flatMap((parent) => {
    if (parent === undefined || parent === null) return []
    if (!isJson(parent)) return [anyBy(path)]
    const value = own(parent, path.name) ?? ''
    const names: readonly unknown[] = Array.isArray(value) ? value : [value]
    return names.flatMap((name) => {
      const given = name === '' ? path.otherwise : name
      return given === '' ? [] : (placeOf(raw, parent, path, given) ?? [])
    })
  })
}

/** Of the namespaces that such a path may name. */
function anyBy({ namespace }: UsePath): string {
  return namespace.type === 'own' ? ANY : ANY_TEXT
}

/** What a list is not, where a path goes into each of its elements, is kept: it is no mapping. */
function found(values: readonly unknown[], steps: readonly UseStep[]): readonly unknown[] {
  return steps.reduce<readonly unknown[]>(
    (all, step) => (step.type === 'below' ? below(all) : all.flatMap((each) => next(each, step))),
    values,
  )
}

/** All mappings in them, and they themselves. */
function below(values: readonly unknown[]): readonly Json[] {
  const [mappings, open]: [Json[], unknown[]] = [[], [...values]]
  while (open.length > 0) {
    const value = open.pop()
    if (isJson(value)) mappings.push(value)
    if (typeof value === 'object' && value !== null) open.push(...Object.values(value))
  }
  return mappings
}

function next(value: unknown, step: Exclude<UseStep, { type: 'below' }>): readonly unknown[] {
  if (value === undefined || value === null) return []
  if (step.type === 'field') return isJson(value) ? [own(value, step.name)] : [value]
  const elements = Array.isArray(value) ? value : [value]
  if (step.type === 'each') return elements
  return elements.filter((each) => !isJson(each) || own(each, step.name) === step.value)
}

/** Undefined: it names none of these. */
function placeOf(raw: Json, parent: Json, path: UsePath, given: unknown): string | undefined {
  if (typeof given !== 'string') return anyBy(path)
  const place = placeIn(parent, path, given)
  if (place === undefined || place.name === '') return undefined
  const { name, namespace } = place
  if (namespace !== undefined && typeof namespace !== 'string') return anyBy(path)
  if (path.isTemplate && `${name} ${namespace}`.includes('$')) return ANY_TEXT
  const used = formed(raw, path, literalName(name))
  if (path.namespace.type === 'any') return textOfName(used, ANY)
  if (path.namespace.type === 'none') return textOfName(used, '')
  return textOfName(used, namespace === undefined ? undefined : literalName(namespace))
}

interface GivenPlace {
  readonly name: string
  /** Undefined: that of the user. */
  readonly namespace: unknown
}

function placeIn(parent: Json, { namespace }: UsePath, given: string): GivenPlace | undefined {
  switch (namespace.type) {
    case 'own':
    case 'any':
      return { name: given, namespace: undefined }
    case 'none':
      return { name: given, namespace: '' }
    case 'beside':
      return { name: given, namespace: own(parent, namespace.key) || undefined }
    case 'slash': {
      const [before = '', ...after] = given.split('/')
      return after.length === 0
        ? { name: before, namespace: undefined }
        : { name: after.join('/'), namespace: before }
    }
    case 'prefix': {
      if (!given.startsWith(namespace.prefix)) return undefined
      const [within, ...name] = given.slice(namespace.prefix.length).split(':')
      return { name: name.join(':'), namespace: within }
    }
  }
}

function formed(raw: Json, { form }: UsePath, name: string): string {
  if (form === '') return name
  const metadata = raw['metadata']
  const user = isJson(metadata) ? metadata['name'] : undefined
  return form.replaceAll('{name}', () => `${user}`).replaceAll('{}', () => name)
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
