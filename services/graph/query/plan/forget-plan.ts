/**
 * What forgetting a cluster of owners means for the objects of one cluster, and the digest that the
 * order names.
 *
 * What must stay true: it is read from committed state and changes nothing. The digest covers both
 * clusters, each object of which a rule asks for an owner there, that owner, the rule as it is, and
 * whether the object is due: it is of no other objects.
 *
 * Not here: what the order changes (core/admit/directive.ts), who may ask (ask/forget-question.ts).
 */
import { createHash, type Hash } from 'node:crypto'
import { elsewherePrefix, lastPart, waitsPrefix } from '../../../../core/graph/key.ts'
import { elsewhereClusterWait } from '../../../../core/graph/rule/elsewhere-index.ts'
import {
  type ElsewhereStatus,
  elsewhereOf,
  forgottenOf,
  unfollowedBecause,
} from '../../../../core/judge/elsewhere.ts'
import { dueWith } from '../../../../core/judge/rule.ts'
import type { ClusterId, ObjectMeta } from '../../../../core/model/object.ts'
import { ownerNamedBy } from '../../../../core/model/rule/elsewhere.ts'
import { digestOf, type Rule, rulesOfKind, rulesWithin } from '../../../../core/model/rule/rule.ts'
import type { ForgetPlan } from '../../api/answer-schema.ts'
import type { Row, Unshaped } from '../../api/document.ts'
import type { View } from '../view/view.ts'

/** Objects of one cluster that one plan reads at most. */
const MOST_READ = 100_000

type Part = Row<Unshaped<ForgetPlan>['clusters']>
type PartObject = Row<Part['objects']>

/** Of the objects of one cluster. */
export type ForgetPart = Omit<Part, 'cluster'> & { readonly cluster: ClusterId }

/** `limit`: objects that are listed; all are counted. */
export async function forgetPart(view: View, owner: ClusterId, limit: number): Promise<ForgetPart> {
  const { facts, cluster } = view
  const named = await namersIn(view, owner)
  const followed = unfollowedBecause(facts, owner)
  const { who, why, at } = forgottenOf(facts, owner) ?? {}
  const isForgotten = who !== undefined && why !== undefined && at !== undefined
  const found = new Found(cluster, owner)
  const isWhole = await readEdges(view, owner, (object, rule, status) => {
    found.add(object, rule, status, limit)
  })
  const refused = refusalOf({ named, isForgotten, isFollowed: followed === '', isWhole })
  return {
    ...{ cluster, followed, named, refused },
    forgottenBy: isForgotten ? { who, why, since: at } : null,
    rules: [...found.rules.values()],
    objects: found.objects,
    digest: refused === '' ? found.digest() : null,
  }
}

async function namersIn(view: View, owner: ClusterId): Promise<number> {
  let named = 0
  for await (const [key] of view.entries(elsewherePrefix(view.cluster, owner))) {
    named += view.facts.elsewhere(owner, lastPart(key))?.namers ?? 0
  }
  return named
}

/**
 * Of each object that waits for that cluster, by each rule that asks for its owner: where both
 * sides share it. False: there are more than are read.
 */
async function readEdges(
  view: View,
  owner: ClusterId,
  take: (object: ObjectMeta, rule: Rule, status: ElsewhereStatus) => void,
): Promise<boolean> {
  const { facts, cluster } = view
  const asking = facts.rules.filter(({ elsewhere }) => elsewhere?.cluster === owner)
  let left = MOST_READ
  for await (const [key] of view.entries(waitsPrefix(cluster, elsewhereClusterWait(owner)))) {
    if (left === 0) return false
    left -= 1
    const object = view.node(lastPart(key))?.object
    if (object === undefined) continue
    const about = rulesOfKind(asking, object)?.rules ?? []
    for (const rule of rulesWithin(about, object.namespace)) {
      const status = elsewhereOf(facts, rule, object)
      if (status === null || status.type === 'unnamed' || status.type === 'refused') continue
      if (dueWith(facts, rule, object) !== null) take(object, rule, status)
    }
  }
  return true
}

/** What is counted, listed and hashed, in the order of uids. */
class Found {
  readonly rules = new Map<string, { rule: string; objects: number; due: number }>()
  readonly objects: PartObject[] = []
  readonly #hash: Hash = createHash('sha256')

  constructor(cluster: ClusterId, owner: ClusterId) {
    this.#note([cluster, owner])
  }

  add(object: ObjectMeta, rule: Rule, { type, because }: ElsewhereStatus, limit: number): void {
    const owner = ownerNamedBy(object.annotations)
    if (owner === null) return
    const isDue = type === 'deleted'
    const { cluster: _, ...ownerNamed } = owner
    const counted = this.rules.get(rule.name) ?? { rule: rule.name, objects: 0, due: 0 }
    counted.objects += 1
    counted.due += Number(isDue)
    this.rules.set(rule.name, counted)
    this.#note([object.uid, ownerNamed, rule.name, digestOf(rule), isDue])
    if (this.objects.length >= limit) return
    const { group, kind, namespace, name, uid } = object
    const about = { group, kind, namespace, name, uid }
    this.objects.push({ ...about, owner: ownerNamed, rule: rule.name, isDue, because })
  }

  digest(): string {
    return this.#hash.digest('hex')
  }

  #note(line: readonly unknown[]): void {
    this.#hash.update(`${JSON.stringify(line)}\n`)
  }
}

interface Standing {
  readonly named: number
  readonly isForgotten: boolean
  readonly isFollowed: boolean
  readonly isWhole: boolean
}

function refusalOf({ named, isForgotten, isFollowed, isWhole }: Standing): string {
  if (isForgotten) return 'it is forgotten already'
  if (named === 0) return 'no object names an owner there'
  if (isFollowed) {
    return 'it is followed, so it is not gone: to end its edges change the rule that imports them'
  }
  return isWhole ? '' : `more than ${MOST_READ.toLocaleString('en')} objects name owners there`
}
