/**
 * Publishes again in `orders` what users and the policy hold back, where a record of it is missing
 * or says less: the topic may have lost its end (F39), and reapers and watchers read pauses,
 * protection and what is said of rules from there alone.
 *
 * What must stay true: only orders that hold back are published again, and only those that the fold
 * still has after all records of `orders`: nothing is released here, and no user's order is undone.
 *
 * So a lost order to enforce a rule is not published again, although the fold still has it: a user
 * who suspends the rule publishes that to the reapers before the fold has it, so an order that is
 * published again just then would release what was suspended a moment ago. Until a user enforces
 * the rule again, reapers carry out no command of it, and say so in each result. An order that the
 * fold no longer has is ended: its rule was suspended, or changed since.
 *
 * Not here: what the watchers say of their clusters, which they publish again themselves.
 */
import { directivesOf } from '../../../core/graph/graph.ts'
import type { Policy } from '../../../core/model/policy.ts'
import type { Clock } from '../../../ports/clock.ts'
import { type Entry, type Log, LogError, type Produced } from '../../../ports/log.ts'
import { type Codec, CodecError, type Writable } from '../../../ports/record/codec.ts'
import {
  MARK_BOOK_KEY,
  PROTECT_POLICY_KEY,
  pauseKey,
  protectKey,
  RULE_BOOK_KEY,
  RULE_PREFIX,
} from '../../../ports/record/control-key.ts'
import {
  hasKeys,
  type MarkSettings,
  markKeys,
  NO_MARKS,
} from '../../../ports/record/manager-mark.ts'
import type { Control } from '../../../ports/record/service-record.ts'
import { StoreError } from '../../../ports/store.ts'
import { CONTROL_CATCH_UP_MS, CONTROL_CHECK_MS } from '../config.ts'
import type { Task } from '../fold/task.ts'
import { readerOf } from '../query/view/view.ts'

export interface OrderKeeperParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  /** Every partition holds all directives: one of them is enough. */
  readonly task: Task
  /** The one asked for, and by whom. */
  readonly policy:
    | { readonly policy: Policy; readonly who: string; readonly marks?: MarkSettings }
    | undefined
}

export async function keepOrders(parts: OrderKeeperParts, signal: AbortSignal): Promise<void> {
  const policy = new Map<string, Entry>()
  for (let round = 0; !signal.aborted; round++) {
    if (round > 0) await parts.clock.sleep(CONTROL_CHECK_MS, signal)
    if (signal.aborted) return
    try {
      await keepPolicy(parts.log, policy)
      if (round > 0) await sayAgain(parts, signal)
    } catch (error) {
      if (signal.aborted) return
      if (!isPassing(error)) throw error
    }
  }
}

/** `known`: what the policy said last. An older record, or none, is what is left of a lost end. */
async function keepPolicy(log: Log, known: Map<string, Entry>): Promise<void> {
  const said = await log.latest('orders', 0)
  for (const key of [PROTECT_POLICY_KEY, RULE_BOOK_KEY, MARK_BOOK_KEY]) {
    const [last, found] = [known.get(key), said.find((each) => each.key === key)]
    if (last === undefined || (found !== undefined && isSince(found, last))) {
      if (found !== undefined) known.set(key, found)
    } else {
      await log.append('orders', 0, [{ key, value: last.value }])
      known.delete(key)
    }
  }
}

/** The same, or said later; offsets that were lost may be given again. */
function isSince(found: Entry, known: Entry): boolean {
  return found.offset >= known.offset || found.timestamp > known.timestamp
}

/** The task itself repairs a store that is closed, wiped or damaged. */
function isPassing(error: unknown): boolean {
  if (error instanceof StoreError) return true
  return error instanceof LogError && error.remedy === 'retry'
}

async function sayAgain(parts: OrderKeeperParts, signal: AbortSignal): Promise<void> {
  const { log, codec, clock, task, policy } = parts
  const said = new Map((await log.latest('orders', 0)).map((entry) => [entry.key, entry]))
  // An order that releases is on `events` before it is in `orders`: after this end the fold has
  // released it, too.
  const { end } = await log.bounds('events', task.partition)
  while (task.status().position < end) {
    await clock.sleep(CONTROL_CATCH_UP_MS, signal)
    if (signal.aborted || task.status().state !== 'folding') return
  }
  const missing = heldBack(parts).filter(({ key, verb }) => verbOf(codec, said.get(key)) !== verb)
  const records: Produced[] = missing.map(({ key, ...control }) => ({
    key,
    value: codec.encode({ ...NOTHING, ...control }),
  }))
  if (policy !== undefined && said.get(PROTECT_POLICY_KEY)?.value == null) {
    const { protection, mode } = policy.policy
    const said = { protection, mode, who: policy.who, why: WHY }
    const control = { ...NOTHING, verb: 'protect', ...said } as const
    records.push({ key: PROTECT_POLICY_KEY, value: codec.encode(control) })
  }
  // Without it no rule is carried out, by whatever order.
  const { rules } = policy?.policy ?? NO_RULES
  if (policy !== undefined && rules.length > 0 && said.get(RULE_BOOK_KEY)?.value == null) {
    const value = codec.encode({ type: 'RuleBook', rules, who: policy.who })
    records.push({ key: RULE_BOOK_KEY, value })
  }
  const keys = markKeys(policy?.marks ?? NO_MARKS)
  if (policy !== undefined && hasKeys(keys) && said.get(MARK_BOOK_KEY)?.value == null) {
    const value = codec.encode({ type: 'MarkBook', ...keys, who: policy.who })
    records.push({ key: MARK_BOOK_KEY, value })
  }
  records.push(...endedOrders(parts, said))
  // A resume that is given in just this moment is said over: reapers then wait for another one.
  if (records.length > 0) await log.append('orders', 0, records)
}

/** Of rules: those that `orders` has, and that the fold has no longer. */
function endedOrders(
  { task, codec }: OrderKeeperParts,
  said: ReadonlyMap<string, Entry>,
): readonly Produced[] {
  const { rules } = directivesOf(readerOf(task.store, codec))
  return [...said.values()].flatMap((entry) => {
    const order = entry.key.startsWith(RULE_PREFIX) ? recordIn(codec, entry) : undefined
    if (order?.type !== 'RuleOrder' || order.digest === '') return []
    const { name, digest } = order
    if (rules.some((each) => each.name === name && each.digest === digest)) return []
    const none = { ...order, digest: '', who: '', why: ENDED }
    return [{ key: entry.key, value: codec.encode(none) }]
  })
}

type HeldBack = Pick<Control, 'verb' | 'cluster' | 'who' | 'why'> & { readonly key: string }

function heldBack({ task, codec }: OrderKeeperParts): readonly HeldBack[] {
  const { pauses, protections } = directivesOf(readerOf(task.store, codec))
  const standing = protections.filter(({ liftedAt }) => liftedAt === null)
  return [
    ...pauses.map(({ cluster, who, why }) => {
      return { key: pauseKey(cluster), verb: 'pause', cluster, who, why } as const
    }),
    ...standing.map(({ cluster, subject, who, why }) => {
      return { key: protectKey(cluster, subject), verb: 'protect', cluster, who, why } as const
    }),
  ]
}

/** Undefined where nothing is said, or nothing that can be read. */
function verbOf(codec: Codec, entry: Entry | undefined): string | undefined {
  const record = recordIn(codec, entry)
  return record?.type === 'Control' ? record.verb : undefined
}

function recordIn(codec: Codec, entry: Entry | undefined): Writable | undefined {
  if (entry?.value == null) return undefined
  try {
    return codec.decode(entry.value)
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}

const WHY = 'it was no longer in control'
const ENDED = 'the order to enforce it is over'
const NO_RULES = { rules: [] }

const NOTHING = {
  type: 'Control',
  cluster: '',
  kind: null,
  number: 0,
  connected: false,
  protection: null,
  mode: null,
} as const
