/**
 * Kinds as a user lists them: `pods`, `deployments.apps`, the resource and its group as RBAC and
 * `kubectl api-resources -o name` have them.
 *
 * What must stay true: what is listed is exactly what is meant: no wildcards, no short names,
 * nothing guessed.
 */
import { readFileSync } from 'node:fs'
import { type ListedKind, nameOf, readKind } from '../print/kind-name.ts'
import { builtInNamed } from './built-in-kind.ts'
import { bad, type Setting, texts } from './setting.ts'

const NAME = /^[a-z][a-z0-9-]*(\.[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$/

/**
 * Of Kubernetes itself; all that these have ends in s, so what does not is a singular or a short
 * name.
 */
const OWN_GROUPS: ReadonlySet<string> = new Set(['', 'apps', 'autoscaling', 'batch', 'policy'])

/** Instead of a list: what the account may list and watch. */
const ALLOWED = 'allowed'

export interface KindSelection {
  /** Null for all that a cluster serves. */
  readonly kinds: readonly string[] | null
  /** Of these only what the account may list and watch. */
  readonly onlyAllowed: boolean
}

/** Of a process that watches: a list, or the word `allowed`, which stands alone. */
export function kindSelection(setting: Setting): KindSelection {
  const { value, from } = setting
  if (value === ALLOWED) return { kinds: null, onlyAllowed: true }
  const words = typeof value === 'string' ? value.split(',') : value
  if (Array.isArray(words) && words.some((each) => String(each).trim() === ALLOWED)) {
    throw bad(`${from}: ${ALLOWED} stands alone, and is no part of a list`)
  }
  return { kinds: listedKinds(setting)?.map(nameOf) ?? null, onlyAllowed: false }
}

/** From a flag with commas or @FILE, or a list in a file; undefined where neither was given. */
export function listedKinds(setting: Setting): readonly ListedKind[] | undefined {
  const { value, from } = setting
  if (value === undefined) return undefined
  const names =
    typeof value !== 'string'
      ? texts(setting)
      : value.startsWith('@')
        ? namesInFile(value.slice(1), from)
        : splitList(value, from)
  if (names.length === 0) {
    throw bad(`${from}: expected kinds such as pods,deployments.apps, not an empty list`)
  }
  return names.map((name) => listedKind(name, from))
}

/** In what `kinfold rbac` printed: its comment names the kinds. */
const PRINTED = /^# Give Kinfold the same list: --kinds (\S+)$/gm

/**
 * What `kinfold rbac` printed, or names, a line each or between commas; from # on a line is a
 * comment.
 */
function namesInFile(file: string, from: string): readonly string[] {
  let content: string
  try {
    content = readFileSync(file, 'utf8')
  } catch (error) {
    throw bad(`${from}: ${file} cannot be read: ${(error as Error).message}`)
  }
  const lists = [...content.matchAll(PRINTED)].map(([, list = '']) =>
    splitList(list, `${from} @${file}`),
  )
  // All of what several runs of `kinfold rbac` printed.
  if (lists.length > 0 && /^apiVersion:/m.test(content)) return [...new Set(lists.flat())]
  const words = content.replaceAll(/#.*$/gm, '').split(/[\s,]+/)
  const names = words.filter((each) => each !== '')
  if (lists.length > 0 && names.length > 0) {
    throw bad(
      `${from}: ${file} lists kinds in a comment of kinfold rbac and besides: keep one of the two`,
    )
  }
  return lists.length > 0 ? [...new Set(lists.flat())] : names
}

function listedKind(name: string, from: string): ListedKind {
  const kind = readKind(name)
  const plural = likelyPlural(name)
  // Kubernetes alone has kinds in the core group, so a name of another group's kind is none without
  // that group.
  const builtIn = builtInNamed(name.toLowerCase()) ?? (plural && builtInNamed(plural))
  const isMeant = builtIn === undefined || builtIn === name || kind.group !== ''
  const isPlural = kind.resource.endsWith('s') || !OWN_GROUPS.has(kind.group)
  if (NAME.test(name) && isPlural && isMeant) return kind
  const like = builtIn ?? plural
  const hint = like === undefined ? '' : `; did you mean ${like}?`
  throw bad(
    `${from}: ${JSON.stringify(name)} is no kind: give the plural and its group, as pods or deployments.apps (kubectl api-resources -o name)${hint}`,
  )
}

/**
 * For a sentence about a mistake only: by English, as most kinds are named. Undefined where it is
 * no word.
 */
export function likelyPlural(name: string): string | undefined {
  const lower = name.toLowerCase()
  if (!NAME.test(lower)) return undefined
  const { resource, group } = readKind(lower)
  return nameOf({ resource: pluralOf(resource), group })
}

function pluralOf(word: string): string {
  if (/(ss|us|x|ch)$/.test(word)) return `${word}es`
  if (word.endsWith('s')) return word
  return /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`
}

/**
 * Words between commas. None is empty: that is a variable of a shell that was not set, and a list
 * that is empty by it may mean everything, or protect nothing.
 */
export function splitList(text: string, from: string, without = ''): readonly string[] {
  const words = text.split(',').map((each) => each.trim())
  if (!words.includes('')) return words
  throw bad(
    `${from}: ${JSON.stringify(text)} has an empty entry (a variable that is not set?): name each, or leave out ${from} itself${without}`,
  )
}
