/**
 * Which objects an object uses beside its owners: a Secret that it mounts, the ServiceAccount that
 * it runs as. What is read of a user for that, and how names lie in one text.
 *
 * What must stay true: not read is not unused. An object of which the names were not read by just
 * these paths, or whose names are too long together, may use any object where it can use one. Names
 * alone are read, never what is used.
 *
 * Not here: which kinds use which (use-table.ts), paths (use-path.ts), who uses an object now
 * (graph/rule/use-index.ts).
 */
import { hash64 } from '../hash.ts'
import type { GroupKind } from '../rule/group-kind.ts'

/** Kinds of users, and where in them the names of objects of one kind are. */
export interface Use {
  /** In namespaces. */
  readonly used: GroupKind
  readonly users: readonly User[]
  /** Below each user's `at`, as use-path.ts reads them. None: an object may use any. */
  readonly paths: readonly string[]
}

export interface User extends GroupKind {
  /** Before each path; empty: nothing. */
  readonly at: string
}

/** Objects that are never called unused, and why. */
export interface UseException extends GroupKind {
  /** `*` stands for any text. */
  readonly namespace: string
  readonly name: string
  /** It has this label or annotation; empty: whatever it has. */
  readonly mark: string
  readonly because: string
}

/** Of a rule: due once nothing has used an object for so long. */
export interface RuleUnused {
  /** Log time in milliseconds. */
  readonly forMs: number
  readonly uses: readonly Use[]
  readonly except: readonly UseException[]
}

/** What is read of objects of one kind: the names of those that they use, of another kind. */
export interface UseRead {
  /** As a field of `Projected`: other paths are another key. */
  readonly key: string
  readonly used: GroupKind
  readonly paths: readonly string[]
}

/** Of an object that is used; `*` is any, and `-*` at the end of a name any number. */
export interface UsedPlace extends GroupKind {
  readonly namespace: string
  readonly name: string
}

export const ANY = '*'

/** By the kind that is used. */
export function useReadsOf(rules: readonly RuleUnused[], user: GroupKind): readonly UseRead[] {
  const reads = new Map<string, { readonly used: GroupKind; readonly paths: Set<string> }>()
  for (const { used, users, paths } of rules.flatMap(({ uses }) => uses)) {
    for (const { at } of users.filter((each) => isSameKind(each, user))) {
      const known = reads.get(nameOf(used)) ?? { used, paths: new Set() }
      reads.set(nameOf(used), known)
      for (const path of paths) known.paths.add(at === '' ? path : `${at}.${path}`)
      if (paths.length === 0) known.paths.add('')
    }
  }
  return [...reads.entries()].sort(byKey).map(([name, { used, paths }]) => {
    const all = [...paths].sort()
    return { key: `uses/${name}/${hash64(JSON.stringify(all)).slice(0, 8)}`, used, paths: all }
  })
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

/** That may use an object of that kind; left out, of any. */
export function usersOf(rules: readonly RuleUnused[], used?: GroupKind): readonly GroupKind[] {
  const kinds = new Map<string, GroupKind>()
  for (const use of rules.flatMap(({ uses }) => uses)) {
    if (used !== undefined && !isSameKind(use.used, used)) continue
    for (const { group, kind } of use.users) kinds.set(nameOf({ group, kind }), { group, kind })
  }
  return [...kinds.values()]
}

/** Of a user's namespace, empty for none, and the text that was read; undefined: none was. */
export function placesIn(
  { used, paths }: UseRead,
  namespace: string,
  text: string | undefined,
): readonly UsedPlace[] {
  const isOfOthers = namespace === '' || paths.some((path) => path.includes('@') || path === '')
  const { group, kind } = used
  if (text === undefined) {
    return [{ group, kind, namespace: isOfOthers ? ANY : namespace, name: ANY }]
  }
  if (text === '') return []
  return text.split(',').map((each) => {
    const [within, name] = each.split('/').map(decodeURIComponent) as [string, string?]
    const own = namespace === '' ? ANY : namespace
    return { group, kind, namespace: name === undefined ? own : within, name: name ?? within }
  })
}

/** As `placesIn` reads it. `namespace` undefined: that of the user. */
export function textOfName(name: string, namespace?: string): string {
  const written = encodeURIComponent(name)
  return namespace === undefined ? written : `${encodeURIComponent(namespace)}/${written}`
}

/**
 * A name as a place has it: what no object can be called, but perhaps a Role, is a digest. So a `*`
 * in it is no other name's, and no name takes the room of others.
 */
export function literalName(name: string): string {
  const isPlain = NAME.test(name) && encodeURIComponent(name).length <= MOST_NAME
  return isPlain ? name : `%${hash64(name)}`
}

const NAME = /^[\w.:-]+$/
const MOST_NAME = 253

/** By which an object may be used, the ones that name it first. */
export function placesOfUsed({ group, kind, namespace, name }: UsedPlace): readonly UsedPlace[] {
  const at = (within: string, by: string): UsedPlace => ({
    group,
    kind,
    namespace: within,
    name: by,
  })
  const own = literalName(name)
  const numbered = /^(.+)-\d+$/.exec(own)?.[1]
  const claims = numbered === undefined ? [] : [at(namespace, `${numbered}-${ANY}`)]
  return [at(namespace, own), ...claims, at(ANY, own), at(namespace, ANY), at(ANY, ANY)]
}

/** It says no name, so whether an object is among those is not known. */
export function isAny({ name }: UsedPlace): boolean {
  return name === ANY
}

export function isSameKind(a: GroupKind, b: GroupKind): boolean {
  return a.kind === b.kind && a.group === b.group
}

export function nameOf({ group, kind }: GroupKind): string {
  return group === '' ? kind : `${kind}.${group}`
}
