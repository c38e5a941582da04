/**
 * Rules as users write them, in the section `rules` of a config file and in policies of a cluster:
 * what is deleted or annotated for its age, its fields or its marks.
 *
 * What must stay true: what cannot be understood is refused by a `SettingError` whose sentence
 * names the rule; a rule that would mean all objects of a kind at once, or the cluster's own, is
 * refused. The same text is the same rule, in the same order of fields: orders name it by its
 * digest.
 *
 * Not here: what a rule decides (core/judge/rule.ts), when it is carried out
 * (core/admit/rule-hold.ts).
 */
import { SYSTEM_NAMESPACES } from '../../core/graph/guarding.ts'
import { isLike } from '../../core/judge/like.ts'
import type { PropagationPolicy } from '../../core/model/object.ts'
import { MOST_PROJECTED } from '../../core/model/rule/field-path.ts'
import type { Rule, RuleCase, RuleLimit, RuleMatch, Term } from '../../core/model/rule/rule.ts'
import { isAboutOthers, readsOf } from '../../core/model/rule/rule.ts'
import type { CompileExpression } from '../expression.ts'
import { BUILTINS } from './builtin.ts'
import { annotateOf, checkAnnotate } from './rule-annotate.ts'
import { CASE_KEYS, ruleCases, waitMs } from './rule-case.ts'
import { type AcrossSettings, checkElsewhere, elsewhereOf, NO_ACROSS } from './rule-elsewhere.ts'
import { absentOf, besideOf, keepOf, narrowedKeep } from './rule-keep.ts'
import { isCareful, kindText } from './rule-kind.ts'
import { narrowed, ruleMatch } from './rule-match.ts'
import { type Mapping, mapping } from './rule-term.ts'
import { narrowedUnused, unusedOf } from './rule-unused.ts'
import { bad, flag, oneOf, whole } from './setting.ts'

/** Of a rule, and of a built-in one some. */
export const RULE_KEYS: readonly string[] = [
  ...[
    'name',
    'match',
    ...CASE_KEYS,
    'cases',
    'for',
    'warn',
    'limit',
    'propagationPolicy',
    'gracePeriodSeconds',
    'failFirst',
    'keep',
    'absent',
    'beside',
    'unused',
    'elsewhere',
    'annotate',
    'builtin',
  ],
]
export const BUILTIN_KEYS: readonly string[] = [
  ...['name', 'builtin', 'match', 'for', 'warn', 'limit', 'keep', 'unused'],
]
/** As a label of DNS. */
const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/
const POLICIES: readonly PropagationPolicy[] = ['Background', 'Foreground', 'Orphan']
export const MOST_RULES = 100
/** All of them are in one event, and in each order's reach. */
const MOST_CHARACTERS = 65_536
/** The rest of what one object may take is for its values. */
const MOST_PATHS = MOST_PROJECTED / 2
const MOST_PER_HOUR = 1_000_000_000
const MOST_GRACE_SECONDS = 86_400
/** An object that was deleted and is made again, under its name, was not gone. */
const LEAST_ABSENT_MS = 40_000

export function rulesOf(
  section: unknown,
  from: string,
  compile: CompileExpression,
  across: AcrossSettings = NO_ACROSS,
): readonly Rule[] {
  if (section === undefined) return []
  if (!Array.isArray(section)) throw bad(`${from}: expected a list of rules`)
  if (section.length > MOST_RULES) {
    throw bad(`${from}: ${section.length} rules, and ${MOST_RULES} are the most`)
  }
  const rules = section.flatMap((each, index) => entryOf(each, { from, index, compile, across }))
  checkTogether(rules, from)
  return rules
}

interface EntryContext {
  readonly from: string
  readonly index: number
  readonly compile: CompileExpression
  readonly across: AcrossSettings
}

/** A built-in one may be several. */
function entryOf(entry: unknown, { from, index, ...context }: EntryContext): readonly Rule[] {
  const fields = mapping(entry, RULE_KEYS, `${from}[${index}]`)
  const { name: given, builtin } = fields
  const name = nameOf(given ?? builtin, `${from}[${index}]`)
  const where = `${from}.${name}`
  if (builtin === undefined)
    return [besideSystem(ruleOf(name, fields, { from: where, ...context }))]
  if (typeof builtin !== 'string' || !Object.hasOwn(BUILTINS, builtin)) {
    throw bad(`${where}.builtin: is none of ${Object.keys(BUILTINS).join(', ')}`)
  }
  mapping(entry, BUILTIN_KEYS, `${where} (built in)`)
  return Object.entries(BUILTINS[builtin] ?? {}).map(([suffix, own]) => {
    const made = builtinFields(own, fields, where)
    const rule = ruleOf(nameOf(`${name}${suffix}`, where), made, { from: where, ...context })
    // The others are about the namespaces of their twins.
    return rule.unused === null ? rule : besideSystem(rule)
  })
}

/** Of a built-in rule: its own, and what the user adds to it. */
export function builtinFields(own: Mapping, given: Mapping, from: string): Mapping {
  const match = narrowed(own['match'] as Mapping, given['match'], `${from}.match`)
  const { for: wait, warn, limit } = given
  const keep = narrowedKeep(own['keep'], given['keep'], `${from}.keep`)
  const unused = narrowedUnused(own['unused'], given['unused'], `${from}.unused`)
  return { ...own, match, for: wait, warn, limit, keep, unused }
}

/** What is in the cluster's own namespaces is deleted only where a rule names them one by one. */
export function besideSystem(rule: Rule): Rule {
  const { namespaces, exceptNamespaces } = rule.match
  const reached = SYSTEM_NAMESPACES.filter((each) => {
    const isMeant = namespaces.length === 0 || namespaces.some((pattern) => isLike(each, pattern))
    return isMeant && ![...namespaces, ...exceptNamespaces].includes(each)
  })
  const match = { ...rule.match, exceptNamespaces: [...exceptNamespaces, ...reached] }
  return { ...rule, match }
}

export function nameOf(value: unknown, from: string): string {
  if (typeof value === 'string' && NAME.test(value)) return value
  throw bad(
    `${from}: name is missing, or none: expected lower-case letters, digits and "-", 63 at most`,
  )
}

export interface RuleReading {
  /** Where the rule was written, for sentences. */
  readonly from: string
  readonly compile: CompileExpression
  /** The only namespace that it may be about; that it is there selects nothing. */
  readonly within?: string
  /** Of the config file; a policy of a cluster has none. */
  readonly across?: AcrossSettings
}

export function ruleOf(name: string, fields: Mapping, reading: RuleReading): Rule {
  const { from, compile, within, across = NO_ACROSS } = reading
  const { for: wait = 0, warn = 0, limit, propagationPolicy: policy } = fields
  const policyFrom = `${from}.propagationPolicy`
  const match = ruleMatch(fields['match'], `${from}.match`, compile)
  const absent = absentOf(fields['absent'], `${from}.absent`)
  const beside = besideOf(fields['beside'], `${from}.beside`)
  if (absent !== null && beside !== null) throw bad(`${from}: absent and beside exclude each other`)
  const rule: Rule = {
    name,
    match,
    cases: ruleCases(withTime(fields), from).map((each) =>
      match.terminating ? sinceDeletion(each) : each,
    ),
    propagationPolicy:
      oneOf({ key: 'propagationPolicy', value: policy, from: policyFrom }, POLICIES) ??
      'Background',
    gracePeriodSeconds: graceOf(fields['gracePeriodSeconds'], `${from}.gracePeriodSeconds`),
    failFirst: flagOf(fields['failFirst'], `${from}.failFirst`),
    account: null,
    forMs: Math.max(waitMs(wait, `${from}.for`), absent === null ? 0 : LEAST_ABSENT_MS),
    warnMs: waitMs(warn, `${from}.warn`),
    limit: limitOf(limit, `${from}.limit`),
    keep: keepOf(fields['keep'], `${from}.keep`),
    absent,
    beside,
    unused: unusedOf(fields['unused'], match.kinds, `${from}.unused`),
    elsewhere: elsewhereOf(fields['elsewhere'], `${from}.elsewhere`, across),
    annotate: annotateOf(fields, from),
  }
  checkAnnotate(rule, from)
  checkGrace(rule, from)
  checkFailFirst(rule, from)
  checkReach(rule, reading)
  checkSecrets(rule, from)
  if (within !== undefined) return { ...rule, match: { ...rule.match, namespaces: [within] } }
  return checkElsewhere(rule, fields['for'] !== undefined, from)
}

/** Of an object that is being deleted the time counts since then. */
function sinceDeletion(each: RuleCase): RuleCase {
  return each.since.type === 'created' ? { ...each, since: { type: 'deleted' } } : each
}

function graceOf(value: unknown, from: string): number | null {
  return whole({ key: 'gracePeriodSeconds', value, from }, 0, MOST_GRACE_SECONDS) ?? null
}

/** No other kind has a grace period: of a DELETE more nothing would come. */
function checkGrace({ match, gracePeriodSeconds }: Rule, from: string): void {
  const { kinds, terminating } = match
  if (terminating && gracePeriodSeconds === null) {
    throw bad(
      `${from}: match.terminating takes gracePeriodSeconds, which a further DELETE can shorten`,
    )
  }
  const other = kinds.find(({ group, kind }) => group !== '' || kind !== 'Pod')
  if (gracePeriodSeconds === null || other === undefined) return
  throw bad(`${from}: gracePeriodSeconds is of Pods only, not of ${kindText(other)}`)
}

function flagOf(value: unknown, from: string): boolean {
  return flag({ key: 'failFirst', value, from }) ?? false
}

/** Of a Pod that is Failed by then the rule has to say the same, should its DELETE come later. */
const PATCHED = /^status($|\[|\.(phase|conditions|reason|message)($|[.[:]))/

const FAIL_FIRST = Object.entries(BUILTINS)
  .filter(([, own]) => Object.values(own).some(({ failFirst }) => failFirst === true))
  .map(([name]) => name)
  .join(', ')

function checkFailFirst(rule: Rule, from: string): void {
  if (!rule.failFirst) return
  if (rule.gracePeriodSeconds !== 0) {
    throw bad(
      `${from}: failFirst takes gracePeriodSeconds: 0: add it, or leave failFirst out, since a node ends other Pods itself and reports it`,
    )
  }
  const ofPods = readsOf([{ ...rule, failFirst: false }]).filter(({ kind }) => kind === 'Pod')
  const wrong = ofPods.flatMap(({ fields }) => fields).find((path) => PATCHED.test(path))
  if (wrong === undefined) return
  throw bad(
    `${from}: failFirst sets a Pod to Failed first, which changes ${wrong}, and by that the rule decides, so it would not be due for its DELETE: decide by another field, or leave failFirst out (${FAIL_FIRST} have it: copy one as a rule of your own)`,
  )
}

function limitOf(value: unknown, from: string): RuleLimit | null {
  if (value === undefined) return null
  const fields = mapping(value, ['perHour', 'percent'], from)
  const number = (key: string, most: number): number =>
    whole({ key, value: fields[key], from: `${from}.${key}` }, 0, most) ?? 0
  const [perHour, percent] = [number('perHour', MOST_PER_HOUR), number('percent', 100)]
  if (perHour + percent > 0) return { perHour, percent }
  throw bad(
    `${from}: expected perHour or percent over 0; a rule that may delete nothing is no rule`,
  )
}

/** What is counted, misses another object or its owner, or is used by none, takes no age. */
function withTime(fields: Mapping): Mapping {
  const isTimed = ['since', 'after', 'cases'].some((key) => fields[key] !== undefined)
  const isPlain = ['keep', 'absent', 'beside', 'unused', 'elsewhere'].every(
    (key) => fields[key] === undefined,
  )
  return isPlain || isTimed ? fields : { ...fields, after: 0 }
}

/** By age alone the oldest are first, and those are the cluster's own. */
function checkReach(rule: Rule, { from, within }: RuleReading): void {
  const { match, cases, keep, absent, beside, unused, annotate } = rule
  const would = annotate === null ? 'would delete' : 'would annotate'
  const others = [keep, absent, beside].some((each) => each !== null)
  if (unused !== null && (others || match.terminating)) {
    throw bad(`${from}: unused takes no keep, absent, beside or match.terminating beside it`)
  }
  if (keep !== null && match.terminating) {
    throw bad(`${from}: keep is about objects that live, and match.terminating about no others`)
  }
  if (selects(match) || isAboutOthers(rule)) return
  const byAge = cases.filter(isByAge)
  const some = within === undefined ? 'labels, annotations, namespaces' : 'labels, annotations'
  const what = `${some} or an expression in match, owner: {kinds}, or when`
  if (keep === null && byAge.some(({ after }) => after.type === 'fixed' && after.ms === 0)) {
    throw bad(`${from}: ${would} all objects of its kinds at once; it takes ${what}`)
  }
  const careful = byAge.length === 0 ? undefined : match.kinds.find(isCareful)
  if (careful === undefined) return
  const kind = kindText(careful)
  throw bad(`${from}: ${would} each ${kind} for its age alone; it takes ${what}`)
}

function isByAge({ fields, since, after }: RuleCase): boolean {
  const isOwn = since.type === 'created' || since.type === 'deleted'
  return fields.length === 0 && isOwn && after.type === 'fixed'
}

/** Without this one, most objects would be selected. */
function selects({ namespaces, labels, annotations, expression, owner }: RuleMatch): boolean {
  if (owner !== null && owner.length > 0) return true
  if (expression !== null || [...labels, ...annotations].some(isPositive)) return true
  return namespaces.length > 0 && !namespaces.some((each) => /^\*+$/.test(each))
}

function isPositive({ operator }: Term): boolean {
  return operator === 'in' || operator === 'exists'
}

const OF_SECRETS: readonly string[] = ['type', 'data.expiration:base64']

function checkSecrets(rule: Rule, from: string): void {
  // Those of a rule that is bound to a namespace, too.
  const reads = readsOf([rule]).filter(({ group, kind }) => group === '' && kind === 'Secret')
  const wrong = reads.flatMap(({ fields }) => fields).find((path) => !OF_SECRETS.includes(path))
  if (wrong === undefined) return
  throw bad(
    `${from}: ${wrong} of a Secret is not read; type is, and data.expiration:base64 of bootstrap tokens`,
  )
}

function checkTogether(rules: readonly Rule[], from: string): void {
  const names = rules.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw bad(`${from}: two rules are called ${twice}`)
  if (rules.length > MOST_RULES) {
    throw bad(`${from}: ${rules.length} rules with built-in ones, and ${MOST_RULES} are the most`)
  }
  const length = JSON.stringify(rules).length
  if (length > MOST_CHARACTERS) {
    throw bad(`${from}: ${length} characters as JSON, and ${MOST_CHARACTERS} are the most`)
  }
  checkPaths(rules, from)
}

export function checkPaths(rules: readonly Rule[], from: string): void {
  for (const { group, kind, fields } of readsOf(rules)) {
    const paths = fields.reduce((sum, path) => sum + path.length, 0)
    if (paths <= MOST_PATHS) continue
    throw bad(
      `${from}: the paths of ${kindText({ group, kind })} have ${paths} characters, and ${MOST_PATHS} are the most`,
    )
  }
}
