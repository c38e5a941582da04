/**
 * What rules say of the objects of one cluster: counted, and the objects that are due first.
 *
 * What must stay true: it reads committed state, a page of keys at a time with turns for others in
 * between, and a bounded number of objects: beyond that `partial` says what is not counted. An
 * object that was not read with all that rules read is counted as unread, and as nothing else.
 *
 * Not here: who may ask (rule-question.ts), what rules decide (core/judge/rule.ts).
 */
import { currentRun, overText } from '../../../../core/admit/rule-hold.ts'
import { lastPart, seenPrefix } from '../../../../core/graph/key.ts'
import { isMet } from '../../../../core/judge/condition.ts'
import { isLike } from '../../../../core/judge/like.ts'
import { dueWith, isMatch } from '../../../../core/judge/rule.ts'
import { unsureOfUse } from '../../../../core/judge/unused.ts'
import { admissionOf, goesByUs, type HeldBy, type Node } from '../../../../core/model/node.ts'
import { BEYOND_READS } from '../../../../core/model/rule/field-path.ts'
import type { GroupKind } from '../../../../core/model/rule/group-kind.ts'
import {
  isReadFor,
  type KindRules,
  kindsOf,
  type Rule,
  rulesOfKind,
  rulesWithin,
} from '../../../../core/model/rule/rule.ts'
import type { Unshaped } from '../../api/document.ts'
import type { RuleCountsDocument } from '../../api/rule-schema.ts'
import { NONE_HELD } from '../../fold/tally.ts'
import type { Sight } from '../view/sight.ts'
import type { View } from '../view/view.ts'

/** Objects of one cluster that one question reads at most. */
export const MOST_SCANNED = 100_000

export type RuleCounts = Unshaped<RuleCountsDocument>

export interface ScanScope {
  /** Undefined: all. */
  readonly namespace: string | undefined
  readonly sight: Sight
}

/** An object with a time by a rule. */
export interface TimedObject {
  readonly node: Node
  readonly dueAt: number
  readonly because: string
}

export interface Scanned {
  /** By the name of the rule. */
  readonly counts: ReadonlyMap<string, RuleCounts>
  /** Why that may be incomplete; empty when it is not. */
  readonly partial: string
  /** Not all objects were read. */
  readonly isCut: boolean
}

export interface ScanOptions {
  /** Called with each object that has a time by a rule. */
  readonly onTimed?: (rule: Rule, object: TimedObject) => void
  readonly mostScanned?: number
}

/** Of these rules, which are of the cluster of the view. */
export async function scanned(
  view: View,
  rules: readonly Rule[],
  scope: ScanScope,
  { onTimed, mostScanned = MOST_SCANNED }: ScanOptions = {},
): Promise<Scanned> {
  const counts = new Map(rules.map((rule) => [rule.name, noneOf(view, rule)]))
  const doubts: string[] = []
  let left = mostScanned
  // What is read of a kind is for all rules of it, those that are not asked about included.
  const all = view.facts.rules
  for (const { group, kind } of kindsOf(rules)) {
    doubts.push(unwatchedText(view, { group, kind }))
    const about = rules.filter((rule) => isAbout(rule, { group, kind }))
    for (const rule of about) doubts.push(unsureOfUse(view.facts, rule, { group, kind }))
    for await (const [key] of view.entries(seenPrefix(view.cluster, { group, kind }))) {
      if (left === 0) break
      left -= 1
      const node = view.node(lastPart(key))
      if (node === undefined || node.object.kind !== kind || node.object.group !== group) continue
      if (!(await isShown(node, scope))) continue
      const ofKind = rulesOfKind(all, node.object)
      if (ofKind === null) continue
      for (const rule of rulesWithin(about, node.object.namespace)) {
        const timed = counted(view, node, { rule, ofKind, counts: counts.get(rule.name)! })
        if (timed !== null) onTimed?.(rule, timed)
      }
    }
    if (left === 0)
      doubts.push(`more than ${mostScanned.toLocaleString('en')} objects: the rest is not counted`)
  }
  const partial = [...new Set(doubts)].filter((text) => text !== '').join('; ')
  return { counts, partial, isCut: left === 0 }
}

/** Such as `Widget.example.com`. */
export function kindName({ group, kind }: GroupKind): string {
  return group === '' ? kind : `${kind}.${group}`
}

/** Why not all objects of a kind are known; empty where they are. */
export function unwatchedText({ facts, name }: View, kind: GroupKind): string {
  const known = facts.kind(kind)
  if (known?.phase === 'synced') return ''
  const why = known?.phase === 'unsynced' ? 'not listed yet' : 'not watched'
  return `${kindName(kind)} is ${why} in cluster ${name}`
}

function isAbout({ match }: Rule, { group, kind }: GroupKind): boolean {
  return match.kinds.some((each) => each.kind === kind && each.group === group)
}

async function isShown({ object }: Node, { namespace, sight }: ScanScope): Promise<boolean> {
  if (namespace !== undefined && object.namespace !== namespace) return false
  return sight.isWhole || (await sight.shows(object))
}

interface Counting {
  readonly rule: Rule
  readonly ofKind: KindRules
  readonly counts: Counts
}

type Counts = { -readonly [K in keyof RuleCounts]: RuleCounts[K] } & {
  held: Record<HeldBy, number>
}

function noneOf({ facts }: View, rule: Rule): Counts {
  const run = currentRun(facts, rule)
  return {
    ...{ matched: 0, due: 0, held: { ...NONE_HELD }, deleting: 0, elsewhere: 0 },
    ...{ later: 0, nextAt: null, unread: 0, beyond: 0 },
    overLimit: run === null ? '' : overText(run),
  }
}

/** With its time, if it has one by the rule. */
function counted(view: View, node: Node, { rule, ofKind, counts }: Counting): TimedObject | null {
  const { object } = node
  if (!isReadFor(object, ofKind)) {
    if (!mayMatch(rule, object.namespace)) return null
    if (object.projected?.reads === BEYOND_READS) counts.beyond += 1
    else counts.unread += 1
    return null
  }
  const now = view.facts.state?.now ?? 0
  if (!isMatch(rule.match, object, now)) return null
  counts.matched += 1
  const dueness = dueWith(view.facts, rule, object)
  if (dueness === null) return null
  const { at: dueAt, because } = dueness
  if (dueAt > now) {
    counts.later += 1
    counts.nextAt = Math.min(counts.nextAt ?? dueAt, dueAt)
    return { node, dueAt, because }
  }
  if (!isMet(view.facts, rule, object)) return null
  counts.due += 1
  const place = placeOf(rule, node)
  if (place.in === 'held') counts.held[place.by] += 1
  else if (place.in !== 'next') counts[place.in] += 1
  return { node, dueAt, because }
}

/** Whatever its labels are: they were not read. */
function mayMatch({ match }: Rule, namespace: string): boolean {
  const { namespaces, exceptNamespaces } = match
  const isIn = namespaces.length === 0 || namespaces.some((each) => isLike(namespace, each))
  return isIn && !exceptNamespaces.some((each) => isLike(namespace, each))
}

export type DuePlace =
  | { readonly in: 'held'; readonly by: HeldBy }
  | { readonly in: 'deleting' | 'elsewhere' | 'next' }

/** Where an object is that is due by a rule; `next`: nothing holds it any more. */
export function placeOf(rule: Rule, node: Node): DuePlace {
  const { object, verdict, attempt } = node
  const isOver = object.deletedAt !== null && !rule.match.terminating
  if (isOver || goesByUs(node)) return { in: 'deleting' }
  if (verdict?.rule !== rule.name) {
    return {
      in:
        verdict === null || verdict.type === 'keep' || verdict.type === 'deleting'
          ? 'next'
          : 'elsewhere',
    }
  }
  const admission = admissionOf(node)
  if (admission !== null) return { in: 'held', by: admission.by }
  return { in: attempt === null ? 'next' : 'deleting' }
}
