/**
 * The shapes of small worlds, as scripts: at most four objects, at most three owners, and for each
 * owner how it is named and how it ends.
 *
 * What must stay true: kinds that differ in nothing but their name are used in one order only, and
 * owners are a set, so no world occurs twice.
 *
 * Not here: in which orders the watches publish a world (small-order.ts).
 */

/** One owner: the lines that make it, how a dependent names it, and the lines that end it. */
interface Part {
  readonly make: readonly string[]
  readonly reference: string
  readonly end: readonly string[]
}

type Role = (kind: string) => Part

/**
 * Kinds that are watched, namespaced and like each other: one for each owner, and one for
 * dependents.
 */
const SLOTS: readonly string[] = ['rs', 'job', 'cm']

function owner(how: {
  readonly kind?: string
  readonly flaw?: (kind: string) => string
  readonly object?: string
  readonly end?: readonly string[]
  readonly isMade?: boolean
}): Role {
  return (slot) => {
    const kind = how.kind ?? slot
    const make = how.isMade === false ? [] : [`+ ${kind}/a${how.object ?? ''}`]
    const reference = how.flaw?.(kind) ?? `${kind}/a`
    return { make, reference, end: (how.end ?? []).map((line) => line.replaceAll('KIND', kind)) }
  }
}

const ENDS = ['Background', 'Foreground', 'Orphan'] as const
const gone = (policy: string): readonly string[] => [`- KIND-a ${policy}`]

/**
 * The possible states of an owner in the dependent's namespace. Of one kind each: they are all that
 * matters to a verdict.
 */
const NEAR: Readonly<Record<string, Role>> = {
  stays: owner({}),
  ...Object.fromEntries(ENDS.map((policy) => [policy, owner({ end: gone(policy) })])),
  never: owner({ isMade: false }),
  replaced: owner({ end: [...gone('Background'), '+ KIND/a@KIND-b'] }),
}

/**
 * The same, as far as it can differ, of cluster-scoped owners, owners in another namespace, of a
 * kind without a watch, and of wrong references.
 */
const FAR: Readonly<Record<string, Role>> = {
  clustered: owner({ kind: 'node' }),
  'clustered Background': owner({ kind: 'node', end: gone('Background') }),
  'clustered Foreground': owner({ kind: 'node', end: gone('Foreground') }),
  'clustered Orphan': owner({ kind: 'node', end: gone('Orphan') }),
  'clustered never': owner({ kind: 'node', isMade: false }),
  elsewhere: owner({ object: ' in other' }),
  'elsewhere gone': owner({ object: ' in other', end: gone('Background') }),
  unwatched: owner({ kind: 'deploy' }),
  'unwatched Background': owner({ kind: 'deploy', end: gone('Background') }),
  'unwatched never': owner({ kind: 'deploy', isMade: false }),
  unserved: owner({ kind: 'widget', isMade: false }),
  'of another kind': owner({ flaw: (kind) => `cm/a@${kind}-a` }),
  'of another name': owner({ flaw: (kind) => `${kind}/x@${kind}-a` }),
  'of another uid': owner({ flaw: (kind) => `${kind}/a@nobody` }),
  'of another version': owner({ flaw: (kind) => `${kind}.v0/a` }),
  'of another version, gone': owner({
    flaw: (kind) => `${kind}.v0/a`,
    end: gone('Background'),
  }),
  'held Background': owner({ object: ' [hold]', end: gone('Background') }),
  'held Foreground': owner({ object: ' [hold]', end: gone('Foreground') }),
  'held, then gone': owner({ object: ' [hold]', end: [...gone('Foreground'), '! KIND-a'] }),
  'Foreground, then orphan': owner({ end: [...gone('Foreground'), ...gone('Orphan')] }),
}

const ALL: readonly Role[] = [...Object.values(NEAR), ...Object.values(FAR)]
const MOST: readonly Role[] = [
  ...Object.values(NEAR),
  ...['clustered', 'clustered Foreground', 'elsewhere', 'unwatched', 'of another version'].flatMap(
    (name) => FAR[name] ?? [],
  ),
]
/** In the company of two others. */
const FEW: readonly Role[] = ['stays', ...ENDS, 'never'].flatMap((name) => NEAR[name] ?? [])

/**
 * How a dependent may differ: whether it blocks, its finalizers, where it is, and when it names its
 * owners.
 */
interface Dependent {
  readonly head: string
  readonly mark: string
  readonly finalizers: string
  /** It has no owner at first, and is adopted. */
  readonly isAdopted: boolean
  /** It loses all owners again. */
  readonly isFreed: boolean
}

const PLAIN: Dependent = {
  head: 'pod/d',
  mark: '',
  finalizers: '',
  isAdopted: false,
  isFreed: false,
}
const BLOCKING: Dependent = { ...PLAIN, mark: '!' }
const DEPENDENTS: readonly Dependent[] = [
  PLAIN,
  BLOCKING,
  { ...BLOCKING, finalizers: ' [hold]' },
  { ...BLOCKING, finalizers: ' [orphan]' },
  { ...BLOCKING, finalizers: ' [foreground]' },
  { ...BLOCKING, head: 'pv/d' },
  { ...BLOCKING, isAdopted: true },
  { ...BLOCKING, isFreed: true },
]

/** All worlds whose watches are published in every order from a first, empty list on. */
export function* shapes(): Generator<readonly string[]> {
  for (const role of ALL) for (const each of DEPENDENTS) yield family(parts([role]), each)
  for (const roles of sets(ALL, 2))
    for (const each of [PLAIN, BLOCKING]) yield family(parts(roles), each)
  for (const roles of sets(MOST, 2))
    for (const each of DEPENDENTS.slice(3)) yield family(parts(roles), each)
  for (const roles of sets(MOST, 3)) yield family(parts(roles), BLOCKING)
  yield* pairs()
  yield* chains()
  yield* rings()
}

/** Worlds small enough that each of their turns may be any, and that one of them may go wrong. */
export function* loopShapes(): Generator<readonly string[]> {
  for (const role of ALL) for (const each of DEPENDENTS) yield family(parts([role]), each)
  for (const roles of sets(FEW, 2)) yield family(parts(roles), BLOCKING)
  yield* chains()
  yield* rings()
}

/**
 * Worlds that are there before they are listed for the first time, by how many of their lines are
 * over then.
 */
export function* listedShapes(): Generator<readonly [script: readonly string[], lists: number]> {
  for (const role of ALL) {
    for (const each of DEPENDENTS) yield* listedAt(family(parts([role]), each))
  }
  for (const roles of sets(FEW, 2)) yield* listedAt(family(parts(roles), BLOCKING))
}

/** Before each line that follows upon the making. */
function* listedAt(
  script: readonly string[],
): Generator<readonly [script: readonly string[], lists: number]> {
  const made = script.findLastIndex((line) => line.startsWith('+ pod') || line.startsWith('+ pv'))
  for (let lists = made + 1; lists <= script.length; lists++) yield [script, lists]
}

/** Owners are a set: which of them is which does not matter. */
function* sets(roles: readonly Role[], size: number, from = 0): Generator<readonly Role[]> {
  if (size === 0) return yield []
  for (let first = from; first < roles.length; first++) {
    const role = roles[first]
    if (role === undefined) continue
    for (const rest of sets(roles, size - 1, first)) yield [role, ...rest]
  }
}

function parts(roles: readonly Role[]): readonly Part[] {
  return roles.map((role, index) => role(SLOTS[index] ?? ''))
}

function family(owners: readonly Part[], dependent: Dependent): readonly string[] {
  const { head, mark, finalizers, isAdopted, isFreed } = dependent
  const references = owners.map(({ reference }) => reference + mark).join(', ')
  const named = `${head} <- ${references}${finalizers}`
  const bare = `${head}${finalizers}`
  return [
    ...new Set(owners.flatMap(({ make }) => make)),
    `+ ${isAdopted ? bare : named}`,
    ...(isAdopted ? [`= ${named}`] : []),
    ...new Set(owners.flatMap(({ end }) => end)),
    ...(isFreed ? [`= ${bare}`] : []),
  ]
}

/** Two owners and two dependents, which share them or do not. */
function* pairs(): Generator<readonly string[]> {
  for (const roles of sets(MOST, 2)) {
    const [a, b] = parts(roles)
    if (a === undefined || b === undefined) continue
    const both = `${a.reference}!, ${b.reference}!`
    for (const second of [`${b.reference}!`, both, `pod/d!`]) {
      const make = [...a.make, ...b.make, `+ pod/d <- ${both}`, `+ cm/e <- ${second}`]
      yield [...make, ...a.end, ...b.end]
    }
  }
}

/** An owner, its dependent, and the dependent of that: both owners may be deleted. */
function* chains(): Generator<readonly string[]> {
  const tops = FEW.map((role) => role('rs'))
  const middles = ['', 'Background', 'Foreground', 'Orphan']
  for (const top of tops) {
    for (const middle of middles) {
      for (const mark of ['', '!']) {
        const end = middle === '' ? [] : [`- job-m ${middle}`]
        const base = [...top.make, `+ job/m <- ${top.reference}${mark}`]
        yield [...base, `+ pod/d <- job/m${mark}`, ...top.end, ...end]
        yield [...base, `+ pod/d <- job/m${mark}, ${top.reference}${mark}`, ...end, ...top.end]
        yield [...base, `+ pod/d <- job/m${mark}`, `+ cm/e <- pod/d${mark}`, ...top.end, ...end]
      }
    }
  }
}

/** Objects that own themselves, or are owned by their dependents. */
function* rings(): Generator<readonly string[]> {
  for (const policy of [...ENDS, '']) {
    const end = policy === '' ? [] : [`- rs-a ${policy}`]
    for (const mark of ['', '!']) {
      yield [`+ rs/a <- rs/a${mark}`, ...end]
      yield [`+ rs/a <- job/b${mark}`, `+ job/b <- rs/a${mark}`, ...end]
      yield [`+ rs/a <- job/b${mark}`, `+ job/b <- rs/a${mark}`, `+ pod/d <- rs/a${mark}`, ...end]
      yield [`+ rs/a <- cm/c${mark}`, `+ job/b <- rs/a${mark}`, `+ cm/c <- job/b${mark}`, ...end]
    }
  }
}
