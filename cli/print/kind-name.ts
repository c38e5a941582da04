/**
 * A kind's name as RBAC and `kubectl api-resources -o name` have it: the plural, and its group
 * behind a dot.
 *
 * What must stay true: reading what was written gives the same again.
 */
export interface ListedKind {
  readonly resource: string
  /** Empty for the core group. */
  readonly group: string
}

export function readKind(name: string): ListedKind {
  const dot = name.indexOf('.')
  if (dot < 0) return { resource: name, group: '' }
  return { resource: name.slice(0, dot), group: name.slice(dot + 1) }
}

export function nameOf({ resource, group }: ListedKind): string {
  return group === '' ? resource : `${resource}.${group}`
}
