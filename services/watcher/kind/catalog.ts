/**
 * Which kinds a cluster serves, and the changes between two answers of its discovery.
 *
 * What must stay true: a group that failed to answer changes nothing (F20, B51); a kind missing
 * from one answer is only missing, not yet absent from discovery.
 *
 * Not here: monitors (session.ts).
 */
import {
  AMBIGUOUS,
  IGNORED,
  NEVER_COLLECTED,
  NOT_ALLOWED,
  NOT_LISTED,
  UNVERSIONED,
} from '../../../core/model/kind-reason.ts'
import type { GroupKind, Scope } from '../../../core/model/object.ts'
import { groupOf } from '../../../core/model/object.ts'
import { isPolicyKind } from '../../../core/model/rule/policy-content.ts'
import type { DiscoveredKind, Discovery } from '../../../ports/cluster.ts'
import { IGNORED_KINDS } from '../config.ts'

export interface ServedKind extends GroupKind {
  readonly resource: string
  /** In small letters; at most as many, and as long, as people type. */
  readonly shortNames: readonly string[]
  readonly scope: Scope
  readonly versions: readonly string[]
  readonly monitored: boolean
  readonly reason: string
  readonly ambiguous: boolean
  readonly aggregated: boolean
}

/** `group/kind`. */
export type KindKey = string

export type Catalog = ReadonlyMap<KindKey, ServedKind>

export function kindKey(kind: GroupKind): KindKey {
  return `${kind.group}/${kind.kind}`
}

/** Which of the served kinds are to be watched. */
export interface Selection {
  /** Kinds that a user wants watched, as `deployments.apps`; null for everything. */
  readonly kinds: readonly string[] | null
  /** Kinds that a user wants left out. */
  readonly ignoreKinds: readonly string[]
  /** Kinds that turned out to be impossible to watch. */
  readonly unwatchable: ReadonlySet<KindKey>
  /** Kinds that the account may not list and watch, where it is asked for what it may. */
  readonly denied: ReadonlySet<KindKey>
}

export const EVERYTHING: Selection = {
  kinds: null,
  ignoreKinds: [],
  unwatchable: new Set(),
  denied: new Set(),
}

/** The record of an earlier watcher about a kind. */
export interface KnownKind extends GroupKind {
  readonly resource: string
  readonly shortNames: readonly string[]
}

export interface CatalogChange {
  /** New, or anything of it changed. */
  readonly served: readonly ServedKind[]
  /** Known before and not in the answer, its group having answered. */
  readonly missing: readonly KnownKind[]
}

/** Undefined: an answer without any kind is an error of the server, not a cluster without kinds. */
export function compareCatalog(
  known: ReadonlyMap<KindKey, ServedKind | KnownKind>,
  discovery: Discovery,
  selection: Selection = EVERYTHING,
): CatalogChange | undefined {
  if (discovery.kinds.length === 0) return undefined
  const failed = new Set(discovery.failed.map(groupOf))
  const answered = catalogOf(discovery, selection)
  const served = [...answered].flatMap(([key, kind]) => {
    const before = known.get(key)
    if (before === undefined) return [kind]
    // If a group answered in part only, versions may be missing: the known ones stay.
    if (failed.has(kind.group) && 'versions' in before) return []
    return isSameKind(before, kind) ? [] : [kind]
  })
  const missing = [...known].flatMap(([key, kind]) =>
    answered.has(key) || failed.has(kind.group) ? [] : [kind],
  )
  return { served, missing }
}

export function catalogOf(discovery: Discovery, selection: Selection = EVERYTHING): Catalog {
  const catalog = new Map<KindKey, ServedKind>()
  for (const kind of discovery.kinds) {
    const key = kindKey(kind)
    const other = catalog.get(key)
    // Two resources of one kind: one entry, always the same one, in whatever order the answer has
    // them.
    const isFirst = other === undefined || kind.resource < other.resource
    const entry = isFirst ? servedKind(kind, selection) : other
    catalog.set(key, other === undefined ? entry : { ...entry, ...SHARED })
  }
  return catalog
}

/** Names enough to find one's own among. */
const MOST_ALIKE = 3

/**
 * The listed kinds that the cluster does not serve, with the kinds that may have been meant:
 * `deployments (deployments.apps?)`. Kinds that a group that failed to answer may serve are not
 * among them.
 */
export function unserved(discovery: Discovery, listed: readonly string[] | null): string[] {
  const failed = new Set(discovery.failed.map(groupOf))
  const served = new Set(discovery.kinds.map(listedName))
  return (listed ?? []).flatMap((name) => {
    const dot = name.indexOf('.')
    const resource = dot < 0 ? name : name.slice(0, dot)
    const group = dot < 0 ? '' : name.slice(dot + 1)
    if (served.has(name) || failed.has(group)) return []
    const alike = discovery.kinds.filter((kind) => kind.resource === resource).slice(0, MOST_ALIKE)
    return [alike.length === 0 ? name : `${name} (${alike.map(listedName).join(' or ')}?)`]
  })
}

const SHARED = { ambiguous: true, monitored: false, reason: AMBIGUOUS }

function servedKind(kind: DiscoveredKind, selection: Selection): ServedKind {
  const { ambiguous } = kind
  const reason = whyNotWatched(kind, selection)
  return {
    group: kind.group,
    kind: kind.kind,
    resource: kind.resource,
    shortNames: shortNamesOf(kind),
    scope: kind.scope,
    versions: kind.versions,
    monitored: reason === '',
    reason,
    aggregated: kind.aggregated,
    ambiguous,
  }
}

/** For a server's answer, which may come from any server. */
const MOST_SHORT_NAMES = 8
const LONGEST_SHORT_NAME = 63

function shortNamesOf({ shortNames }: DiscoveredKind): readonly string[] {
  const known = shortNames.filter((name) => name !== '' && name.length <= LONGEST_SHORT_NAME)
  return known.slice(0, MOST_SHORT_NAMES).map((name) => name.toLowerCase())
}

const NEEDED_VERBS = ['list', 'watch', 'delete'] as const

/**
 * Empty where it is watched. The one function that decides it, for the watcher and for the code
 * that reports it.
 */
export function whyNotWatched(kind: DiscoveredKind, selection: Selection): string {
  const { kinds, ignoreKinds, unwatchable, denied } = selection
  const name = listedName(kind)
  if (kind.ambiguous) return AMBIGUOUS
  if (IGNORED_KINDS.includes(name)) return NEVER_COLLECTED
  if (ignoreKinds.includes(name)) return IGNORED
  // What is read of all others follows from policies, and what is deleted.
  if (kinds?.includes(name) === false && !isPolicyKind(kind)) return NOT_LISTED
  const lacking = NEEDED_VERBS.filter((verb) => !kind.verbs.includes(verb))
  if (lacking.length > 0) return `it does not offer ${lacking.join(', ')}`
  if (denied.has(kindKey(kind))) return NOT_ALLOWED
  return unwatchable.has(kindKey(kind)) ? UNVERSIONED : ''
}

/** As a user lists it. */
function listedName({ group, resource }: DiscoveredKind): string {
  return group === '' ? resource : `${resource}.${group}`
}

function isSameKind(a: ServedKind | KnownKind, b: ServedKind): boolean {
  return (
    'versions' in a &&
    a.resource === b.resource &&
    a.shortNames.join() === b.shortNames.join() &&
    a.scope === b.scope &&
    a.versions.join() === b.versions.join() &&
    a.monitored === b.monitored &&
    a.reason === b.reason &&
    a.ambiguous === b.ambiguous &&
    a.aggregated === b.aggregated
  )
}
