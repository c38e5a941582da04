/**
 * A rule in a line of notation: `NAME KIND[,KIND …] SECONDS [MARK …]`: objects of these kinds are
 * deleted so many seconds after their creation.
 *
 * Marks: `for:SECONDS`, `warn:SECONDS`, `limit:COUNT`, `percent:SHARE`, `label:KEY=VALUE`,
 * `no-label:KEY`, `namespace:NAME`, `not-namespace:NAME`, `expires:ANNOTATION`, `ttl:ANNOTATION`,
 * `since:PATH`, `seconds:PATH`, `when:PATH=VALUE`, `unset:PATH`, `foreground`, `grace:SECONDS`,
 * `keep:COUNT` with `by:GROUP` and `first:PATH=VALUE`, `no-node:PATH`, `unused:SECONDS`,
 * `node:PATH` with `node-when:PATH=VALUE` and `node-unless:PATH=VALUE`,
 * `owner:KIND` or `no-owner`, `fail-first`, `annotate:KEY=VALUE`, `elsewhere:CLUSTER` with
 * `import:KIND/NAMESPACE` and `export:KIND/NAMESPACE/CLUSTER`; `terminating`, and then the
 * seconds are since the deletion was requested; and as an expression that reads the time,
 * `older:SECONDS`, `younger:SECONDS`.
 *
 * Of an object: `KIND[,KIND …] SECONDS [MARK …]`, and `enforced`, `enforced:former`, `refused`,
 * `as:ACCOUNT`.
 */

import type { Expression } from '../../core/judge/expression/tree.ts'
import type { GroupKind, ObjectMeta } from '../../core/model/object.ts'
import type { RuleElsewhere } from '../../core/model/rule/elsewhere.ts'
import { ENFORCE_ANNOTATION } from '../../core/model/rule/policy-content.ts'
import type {
  KeepBy,
  Rule,
  RuleBeside,
  RuleCase,
  RuleExpression,
  RuleKeep,
  Term,
  TimeSource,
  WaitSource,
} from '../../core/model/rule/rule.ts'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import { isSameKind, type RuleUnused } from '../../core/model/use/use.ts'
import { USE_EXCEPTIONS } from '../../core/model/use/use-exception.ts'
import { usesAbout } from '../../core/model/use/use-table.ts'
import { kindNotation, NONE_READ } from './notation.ts'

export function ruleIn(text: string): Rule {
  const [name = '', short = '', seconds = '0', ...marks] = text.trim().split(/\s+/)
  const kinds = short.split(',').map(kindNotation)
  const all = (mark: string): readonly string[] =>
    marks.filter((each) => each.startsWith(`${mark}:`)).map((each) => each.slice(mark.length + 1))
  const one = (mark: string): string | undefined => all(mark)[0]
  const limit = one('limit')
  const grace = one('grace')
  const nodeField = one('no-node')
  const terminating = marks.includes('terminating')
  return {
    name,
    match: {
      kinds: kinds.map(({ group, kind }) => ({ group, kind })),
      namespaces: all('namespace'),
      exceptNamespaces: all('not-namespace'),
      labels: [...all('label').map(isIn), ...all('no-label').map(isAbsent)],
      annotations: [],
      expression: ageIn(one('older'), one('younger')),
      owner: ownersIn(marks),
      terminating,
    },
    cases: [
      caseIn(one, [...all('when').map(isIn), ...all('unset').map(isAbsent)], seconds, terminating),
    ],
    propagationPolicy: marks.includes('foreground') ? 'Foreground' : 'Background',
    gracePeriodSeconds: grace === undefined ? null : Number(grace),
    failFirst: marks.includes('fail-first'),
    account: null,
    forMs: Number(one('for') ?? 0) * 1_000,
    warnMs: Number(one('warn') ?? 0) * 1_000,
    keep: keepIn(one('keep'), one('by'), all('first').map(isIn)),
    absent: nodeField === undefined ? null : { group: '', kind: 'Node', field: nodeField },
    beside: besideIn(one('node'), all('node-when'), all('node-unless')),
    unused: unusedFor(one('unused'), kinds),
    elsewhere: elsewhereIn(one('elsewhere'), all('import'), all('export')),
    annotate: annotationIn(one('annotate')),
    limit:
      limit === undefined ? null : { perHour: Number(limit), percent: Number(one('percent') ?? 0) },
  }
}

/**
 * A CleanupPolicy or a ClusterCleanupPolicy as it is read: with its rule. `former`: as it was,
 * whose digest `enforced:former` names.
 */
export function policyIn(object: ObjectMeta, text: string, former?: ObjectMeta): ObjectMeta {
  const words = text.trim().split(/\s+/)
  const { namespace, name, annotations } = object
  const bound = namespace === '' ? '' : ` namespace:${namespace}`
  const written = words.filter((word) => !/^(enforced|refused|as:)/.test(word)).join(' ')
  const rule = ruleIn(`${namespace === '' ? '*' : namespace}/${name} ${written}${bound}`)
  const enforced = words.find((word) => word.startsWith('enforced'))
  const before = former?.projected?.policy?.rule
  const digest = enforced === 'enforced:former' && before ? ruleDigest(before) : ruleDigest(rule)
  const account = words.find((word) => word.startsWith('as:'))?.slice('as:'.length) ?? ''
  const policy = words.includes('refused')
    ? { rule: null, problem: 'it was refused', account }
    : { rule, problem: '', account }
  const more = enforced === undefined ? [] : [{ key: ENFORCE_ANNOTATION, value: digest }]
  const projected = { ...NONE_READ, policy }
  return { ...object, annotations: [...annotations, ...more], projected }
}

/** `import`: `KIND/NAMESPACE`; `export`: `KIND/NAMESPACE/CLUSTER`, to that cluster. */
function elsewhereIn(
  cluster: string | undefined,
  imported: readonly string[],
  exported: readonly string[],
): RuleElsewhere | null {
  if (cluster === undefined) return null
  const kindOf = (short = ''): GroupKind => {
    const { group, kind } = kindNotation(short)
    return { group, kind }
  }
  const parts = imported.map((each) => each.split('/'))
  return {
    cluster,
    kinds: parts.map(([short]) => kindOf(short)),
    namespaces: parts.map(([, namespace = '']) => namespace),
    exports: exported.map((each) => {
      const [short, namespace = '', to = ''] = each.split('/')
      return { kinds: [kindOf(short)], namespaces: [namespace], to: [to] }
    }),
  }
}

function annotationIn(text: string | undefined): Rule['annotate'] {
  if (text === undefined) return null
  const at = text.indexOf('=')
  return { key: text.slice(0, at), value: text.slice(at + 1) }
}

function ownersIn(marks: readonly string[]): readonly GroupKind[] | null {
  const kinds = marks.filter((each) => each.startsWith('owner:'))
  if (kinds.length === 0) return marks.includes('no-owner') ? [] : null
  return kinds.map((each) => {
    const { group, kind } = kindNotation(each.slice('owner:'.length))
    return { group, kind }
  })
}

function besideIn(
  field: string | undefined,
  all: readonly string[],
  not: readonly string[],
): RuleBeside | null {
  if (field === undefined) return null
  const others = not.map((each): Term => ({ ...isIn(each), operator: 'not-in' }))
  return { group: '', kind: 'Node', field, when: [...all.map(isIn), ...others] }
}

/** By the table, as far as it is about these kinds. */
function unusedFor(seconds: string | undefined, kinds: readonly GroupKind[]): RuleUnused | null {
  if (seconds === undefined) return null
  const isAsked = (kind: GroupKind): boolean => kinds.some((each) => isSameKind(each, kind))
  const uses = usesAbout(kinds)
  return { forMs: Number(seconds) * 1_000, uses, except: USE_EXCEPTIONS.filter(isAsked) }
}

/** `by`: `owner`, `namespace`, `cluster` or `label=KEY`. */
function keepIn(
  newest: string | undefined,
  by = 'cluster',
  first: readonly Term[],
): RuleKeep | null {
  if (newest === undefined) return null
  const [type, key = ''] = by.split('=')
  const of: KeepBy =
    type === 'label' ? { type, key } : { type: type as 'owner' | 'namespace' | 'cluster' }
  return { newest: Number(newest), by: of, first }
}

/** `now - object.metadata.creationTimestamp > duration("60s")`, compiled. */
function ageIn(older: string | undefined, younger: string | undefined): RuleExpression | null {
  const seconds = older ?? younger
  if (seconds === undefined) return null
  const created = { op: 'metadata', name: 'creationTimestamp' } as const
  const tree: Expression = {
    op: older === undefined ? '<' : '>',
    left: { op: '-', left: { op: 'now' }, right: created },
    right: { op: 'duration', ms: Number(seconds) * 1_000 },
  }
  const source = `now - object.metadata.creationTimestamp ${tree.op} duration("${seconds}s")`
  return { source, tree: JSON.stringify(tree), fields: [], labels: [], annotations: [] }
}

function caseIn(
  one: (mark: string) => string | undefined,
  fields: readonly Term[],
  seconds: string,
  terminating: boolean,
): RuleCase {
  const [expires, field, ttl, path] = [one('expires'), one('since'), one('ttl'), one('seconds')]
  const own: TimeSource = { type: terminating ? 'deleted' : 'created' }
  const created: TimeSource = field === undefined ? own : { type: 'field', path: field }
  const since: TimeSource = expires === undefined ? created : { type: 'annotation', key: expires }
  const fixed: WaitSource =
    path === undefined ? { type: 'fixed', ms: Number(seconds) * 1_000 } : { type: 'seconds', path }
  const after: WaitSource = ttl === undefined ? fixed : { type: 'duration', annotation: ttl }
  return { fields, since, after }
}

function isIn(text: string): Term {
  // A path may have one, too: `status.conditions[type=Complete].status=True`.
  const at = text.lastIndexOf('=')
  return { key: text.slice(0, at), operator: 'in', values: [text.slice(at + 1)] }
}

function isAbsent(key: string): Term {
  return { key, operator: 'absent', values: [] }
}
