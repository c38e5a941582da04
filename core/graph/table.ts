/**
 * The tables of a partition's state: what each holds, what its keys name, how it is read.
 *
 * What must stay true: every key begins with the name of its table, alone or before a slash, and
 * every value has its table's type, which is its schema's name, too (schemas/). A type of state
 * without a table does not compile; testing/model/state-check.ts compares keys and values with it.
 *
 * Not here: the keys themselves (key.ts), the meaning of the values (model/state.ts,
 * model/node.ts).
 */
import { invariant } from '../model/invariant.ts'
import type { StateValue } from '../model/state.ts'

export interface Table extends Shape {
  /** Of its values. */
  readonly type: string
}

interface Shape {
  readonly name: string
  /** The parts of a key after the table's name, each after a slash; `?`: not in every key. */
  readonly key: readonly string[]
  /** Pages are read of the keys that agree in so many parts; null: by the whole key only. */
  readonly page: number | null
  /**
   * Between two batches of records: `decoded` where there are as many as clusters, kinds or
   * namespaces, or one; `bytes` where they are read again by their key; `no` where they are read in
   * pages, or once: a third of all that changes would only drive out the others.
   */
  readonly remembered: 'decoded' | 'bytes' | 'no'
  /** It holds work that is left to do, no state: a rehearsal begins without it. */
  readonly isWork: boolean
  /**
   * What a value was before each change is kept beside it, so that the state can be read as it was
   * at a moment. Facts and what is in the way of a verdict are; timers, counters and work are not.
   */
  readonly hasFormer: boolean
  /**
   * The fields that tell one state from another; of the rest a moment has what was there later. Not
   * said: all of them.
   */
  readonly formerFields?: readonly string[]
}

const FACT = { page: null, remembered: 'bytes', isWork: false, hasFormer: true } as const
const FEW = { ...FACT, remembered: 'decoded' } as const
const INDEX = { ...FACT, remembered: 'no' } as const
const COUNTER = { ...FACT, hasFormer: false } as const
const WORK = { ...COUNTER, isWork: true } as const

const TABLES: Readonly<Record<StateValue['type'], Shape>> = {
  Node: { ...FACT, name: 'node', key: ['cluster', 'uid'], page: 1 },
  OwnerChunk: { ...FACT, name: 'owners', key: ['cluster', 'uid', 'chunk'] },
  // Each event of an object changes its version, and no question about a moment reads that.
  Seen: {
    ...{ ...FACT, name: 'seen', key: ['cluster', 'kind', 'uid'], page: 2 },
    formerFields: ['clusterEpoch'],
  },
  Edge: { ...INDEX, name: 'edge', key: ['cluster', 'owner', 'place', 'dependent'], page: 3 },
  Count: { ...FACT, name: 'count', key: ['cluster', 'owner', 'place'] },
  Owner: { ...FACT, name: 'owner', key: ['cluster', 'uid', 'place'] },
  Kind: { ...FEW, name: 'kind', key: ['cluster', 'kind'], page: 1 },
  Members: { ...FEW, name: 'members', key: ['cluster', 'kind'], hasFormer: false },
  KindName: { ...FEW, name: 'kindname', key: ['cluster', 'kind'] },
  ClusterState: { ...FEW, name: 'cluster', key: ['cluster'] },
  PolicyState: { ...FEW, name: 'policy', key: [] },
  Directives: { ...FEW, name: 'directives', key: [] },
  UnreadableHome: { ...FEW, name: 'unreadable', key: ['home'] },
  Position: { ...COUNTER, name: 'position', key: [] },

  Wait: { ...INDEX, name: 'waits', key: ['cluster', 'kind', 'uid'], page: 2, hasFormer: false },
  Due: {
    ...INDEX,
    name: 'due',
    key: ['cluster', 'time', 'what', 'subject'],
    page: 1,
    hasFormer: false,
  },

  Agenda: { ...WORK, name: 'agenda', key: [], remembered: 'decoded' },
  LaneTurn: { ...WORK, name: 'turn', key: ['number'] },
  Lane: { ...WORK, name: 'lane', key: ['cluster', 'namespace'] },
  Work: { ...WORK, name: 'work', key: ['cluster', 'namespace', 'number'] },
  Queued: { ...WORK, name: 'queued', key: ['cluster', 'uid'] },
  Verification: { ...WORK, name: 'verification', key: ['cluster', 'uid'] },
  Gets: { ...WORK, name: 'gets', key: ['cluster', 'lane'] },
  Ring: { ...WORK, name: 'walk', key: ['cluster', 'root'] },
  RingVisit: { ...WORK, name: 'ring', key: ['cluster', 'root', 'visited'], page: 2 },

  HeldNode: { ...FACT, name: 'held', key: ['cluster', 'uid'], page: 1 },
  HeldPlan: { ...FACT, name: 'plan', key: ['cluster'] },
  PlanRuling: { ...FACT, name: 'ruling', key: ['cluster'] },
  FirstApproval: { ...FACT, name: 'approval', key: ['cluster'] },
  Ticket: {
    ...COUNTER,
    name: 'ticket',
    key: ['cluster', 'budget', 'namespace', 'number'],
    page: 2,
  },
  Budget: { ...COUNTER, name: 'budget', key: ['cluster', 'budget'] },
  Breaker: { ...FACT, name: 'breaker', key: ['cluster', 'namespace?'], page: 1 },
  Pace: { ...COUNTER, name: 'pace', key: ['cluster', 'namespace'] },
  Share: { ...COUNTER, name: 'share', key: ['cluster', 'kind'] },
  RuleRun: { ...FEW, name: 'rulerun', key: ['cluster', 'rule'] },
  RuleTurns: { ...COUNTER, name: 'ruleturns', key: ['cluster'], remembered: 'decoded' },
  RuleTurn: {
    ...INDEX,
    name: 'ruleturn',
    key: ['cluster', 'namespace', 'uid'],
    page: 1,
    hasFormer: false,
  },
  RuleOwner: { ...FACT, name: 'ruleowner', key: ['cluster', 'rule', 'owner'], page: 2 },
  ClusterRules: { ...FEW, name: 'clusterrules', key: ['cluster'] },
  KeepGroup: { ...FACT, name: 'keepgroup', key: ['cluster', 'rule', 'group'] },
  Kept: {
    ...INDEX,
    name: 'kept',
    key: ['cluster', 'rule', 'group', 'way', 'order', 'uid'],
    page: 4,
    hasFormer: false,
  },
  Keeps: { ...FACT, name: 'keeps', key: ['cluster', 'uid'] },
  Named: { ...FACT, name: 'named', key: ['cluster', 'place'] },
  Using: { ...FEW, name: 'using', key: ['cluster'] },
  UseKind: { ...FEW, name: 'usekind', key: ['cluster', 'kind'] },
  Uses: { ...FACT, name: 'uses', key: ['cluster', 'uid'] },
  Usage: { ...FACT, name: 'usage', key: ['cluster', 'place'] },
  UserRow: { ...INDEX, name: 'user', key: ['cluster', 'place', 'uid'], page: 2 },
  Keeping: { ...FEW, name: 'keeping', key: ['cluster'], hasFormer: false },
  PolicyRule: { ...FEW, name: 'policyrule', key: ['cluster', 'uid'] },
  Elsewhere: { ...FACT, name: 'elsewhere', key: ['cluster', 'owner', 'uid'] },
  // Its time moves each minute; a moment has that of later.
  ElsewhereCluster: {
    ...{ ...FEW, name: 'elsewherecluster', key: ['cluster', 'owner'] },
    formerFields: ['state', 'because', 'epoch', 'ownerEpoch', 'since'],
  },
  ElsewhereNamespace: { ...COUNTER, name: 'elsewherenamespace', key: ['cluster', 'namespace'] },
  Ending: { ...FACT, name: 'ending', key: ['cluster', 'namespace'] },
  Definition: { ...FACT, name: 'definition', key: ['cluster', 'name'] },
}

export const STATE_TYPES: readonly string[] = Object.keys(TABLES)

const BY_NAME: ReadonlyMap<string, Table> = new Map(
  STATE_TYPES.map((type) => {
    const shape = TABLES[type as StateValue['type']]
    return [shape.name, { ...shape, type }]
  }),
)

/** Undefined for a key of another store. */
function tableWith(key: string): Table | undefined {
  const end = key.indexOf('/')
  return BY_NAME.get(end < 0 ? key : key.slice(0, end))
}

export function tableOf(key: string): Table {
  const table = tableWith(key)
  invariant(table !== undefined, 'a key of no table')
  return table
}

/** The prefix under which a key is ever read in pages; undefined for keys read by point only. */
export function rangeOf(key: string): string | undefined {
  const page = tableWith(key)?.page ?? null
  if (page === null) return undefined
  let at = key.indexOf('/')
  for (let parts = 0; parts < page && at >= 0; parts++) at = key.indexOf('/', at + 1)
  return at < 0 ? undefined : key.slice(0, at + 1)
}
