/**
 * Kinds as a user lists them: `pods`, `deployments.apps`, the resource and its group as RBAC and `kubectl api-resources -o name` have them.
 *
 * What must stay true: what is listed is exactly what is meant: no wildcards, no short names, nothing guessed.
 */
import { bad, type Setting, texts } from './setting.ts'

export interface ListedKind {
  readonly resource: string
  /** Empty for the core group. */
  readonly group: string
}

const NAME = /^[a-z][a-z0-9-]*(\.[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$/

/** From a flag with commas, or a list in a file; undefined where neither was given. */
export function listedKinds(setting: Setting): readonly ListedKind[] | undefined {
  const { value, from } = setting
  if (value === undefined) return undefined
  const names = typeof value === 'string' ? splitList(value) : texts(setting)
  if (names.length === 0) {
    throw bad(`${from}: expected kinds such as pods,deployments.apps, not an empty list`)
  }
  return names.map((name) => listedKind(name, from))
}

function listedKind(name: string, from: string): ListedKind {
  if (!NAME.test(name)) {
    throw bad(
      `${from}: ${JSON.stringify(name)} is no kind: give the plural and its group, as pods or deployments.apps (kubectl api-resources -o name)`,
    )
  }
  const dot = name.indexOf('.')
  if (dot < 0) return { resource: name, group: '' }
  return { resource: name.slice(0, dot), group: name.slice(dot + 1) }
}

export function nameOf({ resource, group }: ListedKind): string {
  return group === '' ? resource : `${resource}.${group}`
}

export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}
