/**
 * The rules of the policy and the orders to enforce them, from `orders`: whether a command of a
 * rule may be carried out.
 *
 * What must stay true: a rule's command is carried out only while the policy has the rule as the
 * command names it, and an order enforces just that one. What is missing permits nothing, and a
 * record of rules that cannot be read stops the commands of all rules, and no others. What is left
 * of `orders` after its end was lost permits nothing that was not permitted before (F39).
 *
 * Not here: following the topic (control.ts), whether a rule matches an object (core/judge).
 */
import type { CommandRule } from '../../core/model/command.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { digestOf } from '../../core/model/rule/rule.ts'
import { shellWord } from '../../core/model/text.ts'
import type { Entry } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { RULE_BOOK_KEY, RULE_PREFIX, ruleOrderKey } from '../../ports/record/control-key.ts'
import type { RuleBook, RuleOrder } from '../../ports/record/service-record.ts'

const RULES_PREFIX = 'rules/'

export class RuleOrders {
  readonly #codec: Codec
  /** Undefined: none is published. */
  #book: readonly Rule[] | undefined
  /** By the name of the rule. */
  readonly #orders = new Map<string, RuleOrder>()
  /** Keys whose record cannot be understood. */
  readonly #unclear = new Set<string>()

  constructor(codec: Codec) {
    this.#codec = codec
  }

  /** The policy's, as they were readable last. */
  get rules(): readonly Rule[] {
    return this.#book ?? []
  }

  /** The rule that a command names; undefined where the policy has another by now, or none. */
  find({ name, digest }: CommandRule): Rule | undefined {
    const rule = this.rules.find((each) => each.name === name)
    return rule !== undefined && digestOf(rule) === digest ? rule : undefined
  }

  /** Why no command of this rule may be carried out; empty when it may. */
  because({ name, digest }: CommandRule): string {
    if (this.#unclear.size > 0) return 'the rules, or the orders to enforce them, cannot be read'
    if (this.#book === undefined) return 'the rules of the policy are not known here'
    const rule = this.#book.find((each) => each.name === name)
    if (rule === undefined) return `the policy has no rule ${name} by now`
    if (digestOf(rule) !== digest) return `rule ${name} is another by now`
    const order = this.#orders.get(name)
    const enforce = `"kinfold rules enforce ${shellWord(name)} --why …" has it carried out`
    if (order === undefined) return `no order to enforce rule ${name} is known here; ${enforce}`
    if (order.digest === '') return `rule ${name} is suspended${by(order)}; ${enforce}`
    if (order.digest !== digest) {
      return `rule ${name} was changed since the order to enforce it; ${enforce}`
    }
    return ''
  }

  /** `isCut`: the record is what is left of a lost end. */
  obey(entry: Entry, isCut = false): void {
    const { key, value } = entry
    if (!isAboutRules(key)) return
    const record = value === null ? null : recordOf(this.#codec, key, value)
    if (record === undefined) {
      this.#unclear.add(key)
      return
    }
    if (isCut && (this.#unclear.has(key) || this.#permits(record))) return
    this.#unclear.delete(key)
    if (key === RULE_BOOK_KEY) this.#book = record?.type === 'RuleBook' ? record.rules : undefined
    else if (record?.type === 'RuleOrder') this.#orders.set(record.name, record)
    else this.#orders.delete(nameIn(key))
  }

  forget(): void {
    this.#book = undefined
    this.#orders.clear()
    this.#unclear.clear()
  }

  /** An older book may have a rule that was removed or changed since. */
  #permits(record: RuleBook | RuleOrder | null): boolean {
    if (record?.type === 'RuleBook') return this.#book !== undefined
    return record !== null && record.digest !== ''
  }
}

export function isAboutRules(key: string): boolean {
  return key.startsWith(RULE_PREFIX) || key.startsWith(RULES_PREFIX)
}

/** Undefined for anything that does not belong under that key. */
function recordOf(codec: Codec, key: string, value: Uint8Array): RuleBook | RuleOrder | undefined {
  try {
    const record = codec.decode(value)
    if (record.type === 'RuleBook') return key === RULE_BOOK_KEY ? record : undefined
    if (record.type !== 'RuleOrder') return undefined
    return key === ruleOrderKey(record.name) ? record : undefined
  } catch {
    return undefined
  }
}

/** Of a key whose record was taken away. */
function nameIn(key: string): string {
  try {
    return decodeURIComponent(key.slice(RULE_PREFIX.length))
  } catch {
    return key
  }
}

function by({ who, why }: RuleOrder): string {
  const reason = why === '' ? '' : ` (${why})`
  return who === '' ? reason : ` by ${who}${reason}`
}
