/**
 * Questions about rules: which there are and what each is about, what one deletes or would, and
 * what it says of an object.
 *
 * What must stay true: rules are those of the policy and of the cluster at the moment that is asked
 * about. Who may not
 * see the whole graph asks of one namespace of one cluster, and learns of the rules about it, and
 * of the objects that may be listed there.
 *
 * Not here: what is counted (rule-scan.ts), the orders that enforce rules (services/graph/orders).
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { directivesOf, policyOf, type StateReader } from '../../../../core/graph/graph.ts'
import { isLike } from '../../../../core/judge/like.ts'
import { digestOf, type EnforcedRule, type Rule } from '../../../../core/model/rule/rule.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import { type AsOf, type ClusterRef, clusterRefs, documentOf } from '../../api/document.ts'
import { markImmutable } from '../../api/etag.ts'
import { type HeldScope, onePerPartition } from '../answer/held.ts'
import { leftOut, ownThen } from '../answer/held-then.ts'
import { cursorIn, cursorText, strange } from '../index/cursor.ts'
import { momentIn } from '../index/moment.ts'
import { type RuleAnswer, ruleAnswer, ruleWhole } from '../rule/rule-document.ts'
import { explained } from '../rule/rule-explanation.ts'
import { type After, rulePage } from '../rule/rule-page.ts'
import { type RuleCounts, scanned } from '../rule/rule-scan.ts'
import { type Answer, readJson } from '../view/forward-call.ts'
import { readThen } from '../view/open-view.ts'
import { LEFT_OUT } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import { askedOf } from './choice.ts'
import { meantIn } from './list-question.ts'
import { namedClusters } from './not-found.ts'
import {
  aboutOne,
  answeredIn,
  heldScope,
  namedIn,
  onlyOf,
  type QuestionParts,
  scopedClusters,
} from './question.ts'

const LISTED = 100
const LISTED_MOST = 2_000
const PLAN_ROUTE = '/v1/rules/{rule}/plan'

/** What a process knows of rules: of the clusters that it has. */
interface OwnRules {
  readonly rules: readonly Rule[]
  readonly enforced: readonly EnforcedRule[]
  readonly clusters: readonly OwnCounts[]
  readonly partial: string
  readonly asOf: readonly AsOf[]
}

interface OwnCounts {
  readonly cluster: string
  readonly name: string
  /** Of the rule: another cluster may have another one of that name. */
  readonly digest: string
  readonly counts: RuleCounts
}

interface RulesAsked {
  readonly scope: HeldScope
  /** Undefined: all. */
  readonly name: string | undefined
  readonly isCounted: boolean
}

export function addRules(server: FastifyInstance, parts: QuestionParts): void {
  addRuleList(server, parts)
  addRulePlan(server, parts)
  addRuleExplanation(server, parts)
}

function addRuleList(server: FastifyInstance, parts: QuestionParts): void {
  const { access, clusters, oneAtATime, open } = parts
  server.get('/v1/rules', async (request, reply) => {
    const scope = await heldScope(access, request)
    const words = askedOf(request)
    const { name, counts } = words
    const at = momentIn(words)
    const asked: RulesAsked = { scope, name, isCounted: counts !== 'false' }
    const inTurn = async (views: readonly View[]): Promise<OwnRules> =>
      await oneAtATime(request, async () => await rulesIn(views, asked))
    const own = async (views: readonly View[]): Promise<OwnRules> =>
      at === undefined ? await inTurn(views) : await ownThen(views, at, { open, own: inTurn })
    const read = async (answer: Answer): Promise<OwnRules> => (await readJson(answer)) as OwnRules
    return await answeredIn(parts, { request, reply, scope }, at, {
      ...{ own, read },
      async joined({ answers, asked: meant, partial }) {
        const left = at === undefined ? '' : leftOut(answers, meant, partial)
        // Rules are known to every partition, also where there is no cluster yet.
        const here = at === undefined ? ruleBookOf(clusters.readers(), asked) : []
        const rules = rulesOfAll([...answers, ...here], meant)
        if (name !== undefined && rules.length === 0) {
          throw noRule(name, ruleBookOf(clusters.readers(), { ...asked, name: undefined }))
        }
        const doubts = new Set([partial, left, ...answers.map((each) => each.partial)])
        const lacks = [...doubts].filter((each) => each !== '').join('; ')
        if (at !== undefined && lacks === '' && meant.length > 0) markImmutable(reply)
        const asOf = onePerPartition(answers.flatMap((each) => each.asOf))
        return documentOf('RuleList', { answer: { rules }, partial: lacks, asOf })
      },
    })
  })
}

/** Of the clusters of these views. */
async function rulesIn(views: readonly View[], asked: RulesAsked): Promise<OwnRules> {
  const { scope, isCounted } = asked
  const clusters: OwnCounts[] = []
  const doubts = new Set([scope.isWhole ? '' : LEFT_OUT])
  const asOf: AsOf[] = []
  const [rules, enforced]: [Rule[], EnforcedRule[]] = [[], []]
  for (const view of views) {
    asOf.push(view.asOf())
    const own = view.facts.rules.filter((rule) => isAsked(rule, asked))
    rules.push(...own)
    enforced.push(...view.facts.enforced)
    doubts.add(view.partial())
    if (!isCounted) continue
    const sight = await scope.sight(view.cluster)
    const { counts, partial } = await scanned(view, own, { namespace: scope.namespace, sight })
    doubts.add(partial)
    for (const rule of own) {
      const found = counts.get(rule.name)
      if (found === undefined) continue
      const of = { cluster: view.cluster, name: rule.name, digest: digestOf(rule) }
      clusters.push({ ...of, counts: found })
    }
  }
  const partial = [...doubts].filter((text) => text !== '').join('; ')
  return { rules, enforced, clusters, partial, asOf }
}

/** Of a namespace that is asked about, and else any. */
function isAsked(rule: Rule, { name, scope }: Omit<RulesAsked, 'isCounted'>): boolean {
  if (name !== undefined && rule.name !== name) return false
  const { namespace } = scope
  if (namespace === undefined) return true
  const { namespaces, exceptNamespaces } = rule.match
  if (exceptNamespaces.some((each) => isLike(namespace, each))) return false
  return namespaces.length === 0 || namespaces.some((each) => isLike(namespace, each))
}

function ruleBookOf(readers: readonly StateReader[], asked: RulesAsked): readonly OwnRules[] {
  return readers.map((reader) => ({
    rules: policyOf(reader).policy.rules.filter((rule) => isAsked(rule, asked)),
    enforced: directivesOf(reader).rules,
    ...{ clusters: [], partial: '', asOf: [] },
  }))
}

type ListedRule = {
  readonly rule: RuleAnswer
  readonly clusters: readonly { readonly cluster: ClusterRef; readonly counts: RuleCounts }[]
}

/**
 * Of the policy one that lags may have a rule as it was: the first that has it counts. Of objects
 * of clusters, each has its own.
 */
function rulesOfAll(all: readonly OwnRules[], named: readonly ClusterRef[]): ListedRule[] {
  const refs = new Map(named.map(({ name, id, scope }) => [id, { name, id, scope }]))
  const first = new Map<string, RuleAnswer>()
  for (const { rules, enforced } of all) {
    for (const rule of rules) {
      const key = keyOf(rule.name, digestOf(rule))
      if (!first.has(key)) first.set(key, ruleAnswer(rule, enforced))
    }
  }
  const counted = all.flatMap(({ clusters }) => clusters)
  return [...first.values()].map((rule) => ({
    rule,
    clusters: counted.flatMap(({ cluster: id, name, digest, counts }) => {
      const cluster = refs.get(id)
      const isSame = keyOf(name, digest) === keyOf(rule.name, rule.ruleDigest)
      return isSame && cluster !== undefined ? [{ cluster, counts }] : []
    }),
  }))
}

function keyOf(name: string, digest: string): string {
  return name.includes('/') ? `${name} ${digest}` : name
}

function noRule(name: string, all: readonly Pick<OwnRules, 'rules'>[]): Problem {
  const names = new Set(all.flatMap(({ rules }) => rules.map((rule) => rule.name)))
  const known = names.size === 0 ? '' : `; rules: ${[...names].toSorted().join(', ')}`
  return new Problem(404, `the policy has no rule ${name}${known}`)
}

/** Of those of a view. A namespace's are not named to others. */
function ruleNamed({ facts }: View, name: string): Rule {
  const rule = facts.rules.find((each) => each.name === name)
  if (rule === undefined) throw noRule(name, [facts.policy.policy])
  return rule
}

function ruleIn({ params }: FastifyRequest): string {
  return (params as { readonly rule: string }).rule
}

function addRulePlan(server: FastifyInstance, parts: QuestionParts): void {
  const { access, clusters, forwarding, oneAtATime, open } = parts
  server.get('/v1/rules/:rule/plan', async (request, reply) => {
    const scope = await heldScope(access, request)
    const words = askedOf(request)
    const at = momentIn(words)
    const name = ruleIn(request)
    const marked = namedIn(request)
    const all = await clusters.all(marked)
    const named = await scopedClusters(parts, request, scope)
    const meant = marked === undefined ? named : namedClusters(all, marked)
    // Of a part it is checked behind the rights to it.
    const only = onlyOf(scope.isWhole ? meantIn(meant, at) : meant)
    const cluster = clusterRefs(all)(only.id)
    const question = { route: PLAN_ROUTE, words: { ...words, rule: name } }
    const limit = Math.min(Number(words['limit'] ?? LISTED), LISTED_MOST)
    const after = afterIn(cursorIn(words['continue'], question), only.id)
    return await forwarding.answered(request, reply, only.id, async (here) => {
      await access.namespace(request, here, scope.namespace ?? '')
      const view = await open(here, at)
      return await readThen(view, async () => {
        const asOf = [view.asOf()]
        const rule = ruleNamed(view, name)
        if (!isAsked(rule, { name, scope })) throw noRule(name, [])
        const sight = await scope.sight(view.cluster)
        const asked = { namespace: scope.namespace, sight, limit, after }
        const page = await oneAtATime(request, async () => await rulePage(parts, view, rule, asked))
        const { counts, objects, next } = page
        const doubts = [scope.isWhole ? '' : LEFT_OUT, view.partial(), page.partial]
        const partial = doubts.filter((text) => text !== '').join('; ')
        if (view.moment !== null && partial === '') markImmutable(reply)
        const rest = next && cursorText(question, [only.id, next.dueAt, next.uid])
        const shown = { rule: ruleAnswer(rule, view.facts.enforced), counts, objects }
        const answer = { ...shown, hidden: 0, continue: rest }
        return documentOf('RulePlan', { answer, partial, cluster, asOf })
      })
    })
  })
}

function afterIn(places: readonly unknown[] | undefined, cluster: string): After | null {
  if (places === undefined) return null
  const [of, dueAt, uid, more] = places
  const isCursor = typeof dueAt === 'number' && typeof uid === 'string' && more === undefined
  if (!isCursor || of !== cluster) throw strange()
  return { dueAt, uid }
}

function addRuleExplanation(server: FastifyInstance, parts: QuestionParts): void {
  const { access, clusters, forwarding, open } = parts
  const about = aboutOne(parts)
  server.get('/v1/rules/:rule', async (request, reply) => {
    const words = askedOf(request)
    const name = ruleIn(request)
    if (words['uid'] !== undefined || words['kind'] !== undefined || words['name'] !== undefined) {
      return await about('RuleExplanation', request, reply, async (view, { object }) => {
        const rule = ruleNamed(view, name)
        const node = view.node(object.uid)
        if (node === undefined) {
          throw new Problem(409, `${object.kind}/${object.name} is deleted: no rule is about it`)
        }
        const sight = await access.sight(request, view.cluster, 'get')
        return {
          answer: { ...wholeIn(view, rule), object: explained(view, rule, node, sight) },
          partial: view.partial(),
        }
      })
    }
    await access.graph(request)
    const at = momentIn(words)
    const [only] = meantIn(
      namedClusters(await clusters.all(namedIn(request)), namedIn(request)),
      at,
    )
    if (only === undefined) return ruleAlone(parts, name)
    const cluster = clusterRefs(await clusters.all())(only.id)
    return await forwarding.answered(request, reply, only.id, async (here) => {
      const view = await open(here, at)
      return await readThen(view, async () => {
        const answer = { ...wholeIn(view, ruleNamed(view, name)), object: null }
        const asOf = [view.asOf()]
        if (view.moment !== null && view.partial() === '') markImmutable(reply)
        return documentOf('RuleExplanation', { answer, partial: view.partial(), cluster, asOf })
      })
    })
  })
}

function wholeIn({ facts }: View, rule: Rule) {
  return { rule: ruleAnswer(rule, facts.enforced), ...ruleWhole(rule, facts.rules) }
}

/** Before any cluster was watched. */
function ruleAlone({ clusters }: Pick<QuestionParts, 'clusters'>, name: string): unknown {
  const [reader] = clusters.readers()
  const rules = reader === undefined ? [] : policyOf(reader).policy.rules
  const rule = rules.find((each) => each.name === name)
  if (reader === undefined || rule === undefined) throw noRule(name, [{ rules }])
  const whole = ruleWhole(rule, rules)
  const answer = { rule: ruleAnswer(rule, directivesOf(reader).rules), ...whole, object: null }
  return documentOf('RuleExplanation', { answer, partial: '', cluster: null, asOf: [] })
}
