/**
 * Which rules a world has, and what users write on their objects for them.
 *
 * What must stay true: rules are drawn apart from everything else of a world, so a world without
 * rules is what it was before there were any.
 *
 * Not here: when an object is due (testing/model/rule-oracle.ts), who enforces a rule (person.ts).
 */
import type { GroupKind } from '../../core/model/object.ts'
import type { Rule, RuleCase, Term } from '../../core/model/rule/rule.ts'
import type { Chance } from '../../testing/seeded.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

const KINDS: readonly [GroupKind, ...GroupKind[]] = [
  { group: '', kind: 'ConfigMap' },
  { group: '', kind: 'Secret' },
  { group: 'apps', kind: 'ReplicaSet' },
  { group: '', kind: 'PersistentVolume' },
  { group: 'example.com', kind: 'Widget' },
]

const TEMPORARY: Term = { key: 'tier', operator: 'in', values: ['temp'] }
const MARKED: Term = { key: 'tier', operator: 'exists', values: [] }
const UNKEPT: Term = { key: 'keep', operator: 'absent', values: [] }

const JOBS: GroupKind = { group: 'batch', kind: 'Job' }

interface Drawn {
  /** Others than those that users own and depend with. */
  readonly kind?: GroupKind
  readonly labels: readonly Term[]
  readonly cases: readonly RuleCase[]
}

const SORTS: Readonly<Record<string, (chance: Chance) => Drawn>> = {
  aged: (chance) => ({ labels: [TEMPORARY], cases: [aged(chance)] }),
  unkept: (chance) => ({ labels: [MARKED, UNKEPT], cases: [aged(chance)] }),
  expired: () => ({
    labels: [],
    cases: [{ fields: [], since: { type: 'annotation', key: 'expires' }, after: fixed(0) }],
  }),
  finished: () => ({ kind: JOBS, labels: [], cases: [FINISHED] }),
  ttl: () => ({
    labels: [],
    cases: [
      { fields: [], since: { type: 'created' }, after: { type: 'duration', annotation: 'ttl' } },
    ],
  }),
}

/** As kube-controller-manager's own, with a rule's means. */
const FINISHED: RuleCase = {
  fields: [{ key: 'status.conditions[type=Complete].status', operator: 'in', values: ['True'] }],
  since: { type: 'field', path: 'status.conditions[type=Complete].lastTransitionTime' },
  after: { type: 'seconds', path: 'spec.ttlSecondsAfterFinished' },
}

function aged(chance: Chance): RuleCase {
  return { fields: [], since: { type: 'created' }, after: fixed((2 + chance.below(30)) * MINUTE) }
}

function fixed(ms: number): RuleCase['after'] {
  return { type: 'fixed', ms }
}

/** At least one. */
export function drawnRules(chance: Chance): readonly Rule[] {
  const names = Object.keys(SORTS).filter(() => chance.next() < 0.5)
  return (names.length === 0 ? ['aged'] : names).map((name) => ruleOf(name, chance))
}

export const STALE = { key: 'example.com/stale', value: 'yes' } as const

/** One of four annotates, by what was drawn already: nothing else of a world is another. */
export function perhapsAnnotating(rule: Rule, index: number): Rule {
  if ((index + rule.cases.length + rule.match.kinds.length) % 4 !== 2) return rule
  return { ...rule, annotate: STALE, propagationPolicy: 'Background', warnMs: 0 }
}

/** No order enforces one about storage, so it is about everything else that was drawn. */
export function withoutStorage(rule: Rule): Rule {
  const kinds = rule.match.kinds.filter((each) => !isStorage(each))
  return { ...rule, match: { ...rule.match, kinds: kinds.length === 0 ? [KINDS[0]] : kinds } }
}

export function isStorage({ kind }: GroupKind): boolean {
  return kind === 'PersistentVolume'
}

function ruleOf(name: string, chance: Chance): Rule {
  const { labels, cases, kind } = SORTS[name]!(chance)
  const kinds = KINDS.filter(() => chance.next() < 0.5)
  const perHour = 3 + chance.below(20)
  return {
    name,
    match: {
      kinds: kind !== undefined ? [kind] : kinds.length === 0 ? [KINDS[0]] : kinds,
      namespaces: chance.pick<readonly string[]>([[], [], [], ['b*', 'green']]),
      exceptNamespaces: chance.pick<readonly string[]>([[], [], ['red']]),
      ...{ labels, annotations: [], expression: null, owner: null, terminating: false },
    },
    cases,
    propagationPolicy: chance.pick(['Background', 'Background', 'Foreground', 'Orphan'] as const),
    gracePeriodSeconds: null,
    failFirst: false,
    account: null,
    keep: null,
    absent: null,
    beside: null,
    unused: null,
    elsewhere: null,
    annotate: null,
    forMs: chance.pick([0, 0, 30 * SECOND, 5 * MINUTE]),
    warnMs: chance.pick([0, 0, 0, 2 * MINUTE]),
    limit: chance.pick([null, null, { perHour, percent: chance.pick([0, 20, 60]) }]),
  }
}

export interface MarkedMetadata {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

export interface JobBody {
  readonly spec: { readonly ttlSecondsAfterFinished?: number }
  readonly status: object
}

/** What users write on an object. Their clocks are wrong by up to half an hour. */
export class Marks {
  readonly #chance: Chance
  readonly #now: () => number

  constructor(chance: Chance, now: () => number) {
    this.#chance = chance
    this.#now = now
  }

  next(): MarkedMetadata {
    const chance = this.#chance
    const is = (share: number): boolean => chance.next() < share
    const labels = {
      ...(is(0.3) && { tier: chance.pick(['temp', 'temp', 'other']) }),
      ...(is(0.2) && { keep: '' }),
    }
    const annotations = {
      ...(is(0.15) && { expires: is(0.1) ? 'soon' : this.#time(60 * MINUTE) }),
      ...(is(0.15) && { ttl: is(0.1) ? 'long' : `${1 + chance.below(40)}m` }),
    }
    return { labels, annotations }
  }

  /** A Job that is done, or not yet; undefined for none. */
  job(): JobBody | undefined {
    const chance = this.#chance
    if (chance.next() > 0.2) return undefined
    const status = chance.pick(['True', 'True', 'True', 'False'])
    const lastTransitionTime = this.#time(20 * MINUTE)
    const conditions = [
      { type: 'Suspended', status: 'False', lastTransitionTime: this.#time(MINUTE) },
      { type: 'Complete', status, lastTransitionTime },
    ]
    return { spec: this.jobSpec(), status: chance.next() < 0.8 ? { conditions } : {} }
  }

  jobSpec(): JobBody['spec'] {
    const chance = this.#chance
    return chance.next() < 0.1 ? {} : { ttlSecondsAfterFinished: chance.below(60) * 60 }
  }

  /** The object is needed for longer, or only now no more. */
  other(): MarkedMetadata {
    const chance = this.#chance
    const annotations = { expires: this.#time(120 * MINUTE), ttl: `${1 + chance.below(120)}m` }
    const labels = { tier: chance.pick(['temp', 'other']) }
    return chance.next() < 0.7 ? { annotations } : { labels }
  }

  #time(most: number): string {
    const skewMs = (this.#chance.next() * 2 - 1) * 30 * MINUTE
    const ms = this.#now() + this.#chance.below(most) + (this.#chance.next() < 0.3 ? skewMs : 0)
    return `${new Date(ms).toISOString().slice(0, 19)}Z`
  }
}
