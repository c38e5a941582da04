/**
 * Random lives of a small cluster, for properties: actions of users, with references good and bad.
 *
 * What must stay true: an action is plain data and always applicable, so fast-check can shrink a
 * life to the part that matters; its subject is picked among the objects that exist when it
 * happens.
 */
import fc from 'fast-check'
import type { ObjectMeta, OwnerReference, Pair } from '../../core/model/object.ts'
import { apiVersionOf, FINALIZER_ORPHAN } from '../../core/model/object.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { rulesOfKind } from '../../core/model/rule/rule.ts'
import type { ModelCluster } from './model-cluster.ts'
import { MONITORED, UNMONITORED } from './model-cluster.ts'
import { kindNotation } from './notation.ts'
import { ruleIn } from './rule-notation.ts'

/** Rules of lives that have some: each says something of what `marks` draws. */
export const RULES: readonly Rule[] = [
  ruleIn('old pod 60 label:tier=temp limit:1'),
  ruleIn('unkept cm 90 no-label:keep limit:1 percent:40'),
  ruleIn('expired cm 0 expires:expires foreground'),
  ruleIn('ttl rs 0 ttl:ttl for:20'),
  ruleIn('done job 0 since:status.completionTime seconds:spec.ttlSecondsAfterFinished'),
]

/** How a reference is wrong, or (`none`, `lower`: its kind in lower case) does not. */
const FLAWS = [
  'none',
  'none',
  'none',
  'lower',
  'departed',
  'uid',
  'kind',
  'name',
  'version',
  'unserved',
  'self',
] as const

export interface ReferenceSpec {
  readonly flaw: (typeof FLAWS)[number]
  /** Which of the objects there. */
  readonly pick: number
  readonly blocking: boolean
}

export type Action =
  | CreateAction
  | RelistAction
  | ObjectAction
  | { readonly type: 'unserve'; readonly kind: string }

interface CreateAction {
  readonly type: 'create'
  readonly kind: string
  readonly name: string
  readonly namespace: string
  readonly references: readonly ReferenceSpec[]
  readonly finalizers: readonly string[]
  /** What rules read of it; absent where there are none. */
  readonly marks?: Marks
}

interface Marks {
  readonly createdAt: number
  readonly labels: readonly Pair[]
  readonly annotations: readonly Pair[]
  readonly fields: readonly Pair[]
}

interface RelistAction {
  readonly type: 'relist'
  readonly kind: string
  readonly lost: number
  readonly isCut: boolean
}

type ObjectAction =
  | { readonly type: 'refer'; readonly pick: number; readonly references: readonly ReferenceSpec[] }
  | { readonly type: 'release'; readonly pick: number }
  | { readonly type: 'touch'; readonly pick: number }
  | { readonly type: 'mark'; readonly pick: number; readonly marks: Marks }
  | { readonly type: 'delete'; readonly pick: number; readonly policy: string }

export interface LifeOptions {
  /**
   * Orphaning makes the fate of a dependent depend on the order in which two owners are deleted.
   */
  readonly hasOrphaning: boolean
  /** Objects deleted with their kind wait for a person's decision. */
  readonly hasKindsGone: boolean
  /**
   * A finalizer on an owner that waits decides whether a dependent that does not block is deleted
   * before it (upstream's own race).
   */
  readonly hasHolds?: boolean
  /** Objects have what `RULES` read. */
  readonly hasRules?: boolean
  readonly maxLength: number
}

/** Seconds since 1970. */
const moment = fc.constantFrom(0, 10, 30, 100)

function pairOf(key: string, values: fc.Arbitrary<string>): fc.Arbitrary<readonly Pair[]> {
  return fc.option(values, { nil: null }).map((value) => (value === null ? [] : [{ key, value }]))
}

const times = fc.oneof(
  moment.map((seconds) => new Date(seconds * 1_000).toISOString().replace('.000', '')),
  fc.constant('soon'),
)

const marks: fc.Arbitrary<Marks> = fc.record({
  createdAt: moment.map((seconds) => seconds * 1_000),
  labels: together(
    pairOf('tier', fc.constantFrom('temp', 'temp', 'other')),
    pairOf('keep', fc.constant('')),
  ),
  annotations: together(
    pairOf('expires', times),
    pairOf('ttl', fc.constantFrom('30s', '2m', 'long')),
  ),
  fields: together(
    pairOf('spec.ttlSecondsAfterFinished', fc.constantFrom('0', '60', '-1')),
    pairOf('status.completionTime', times),
  ),
})

function together(
  ...parts: readonly fc.Arbitrary<readonly Pair[]>[]
): fc.Arbitrary<readonly Pair[]> {
  return fc.tuple(...parts).map((all) => all.flat())
}

export function life({
  hasOrphaning,
  hasKindsGone,
  hasHolds = true,
  hasRules = false,
  maxLength,
}: LifeOptions): fc.Arbitrary<readonly Action[]> {
  const pick = fc.nat({ max: 30 })
  const reference = fc.record({ flaw: fc.constantFrom(...FLAWS), pick, blocking: fc.boolean() })
  const references = fc.array(reference, { maxLength: 3 })
  const holds = hasHolds ? [HOLD] : []
  const finalizer = hasOrphaning ? [...holds, FINALIZER_ORPHAN] : holds
  const finalizers = fc.oneof(
    { weight: 5, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.subarray(finalizer, { minLength: 1, maxLength: 1 }) },
  )
  const policies = hasOrphaning
    ? ['Background', 'Foreground', 'Orphan']
    : ['Background', 'Foreground']
  const create = fc.record({
    type: fc.constant('create' as const),
    kind: fc.constantFrom('pod', 'cm', 'rs', 'job', 'node', 'pv', ...UNMONITORED),
    name: fc.constantFrom('a', 'b', 'c'),
    namespace: fc.constantFrom('ns', 'ns', 'other'),
    references,
    finalizers,
    ...(hasRules && { marks }),
  })
  const action = fc.oneof(
    { weight: 8, arbitrary: create },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('refer' as const), pick, references }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('release' as const), pick }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('touch' as const), pick }) },
    {
      weight: hasRules ? 2 : 0,
      arbitrary: fc.record({ type: fc.constant('mark' as const), pick, marks }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        type: fc.constant('delete' as const),
        pick,
        policy: fc.constantFrom('Background', 'Background', ...policies),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('relist' as const),
        kind: fc.constantFrom(...MONITORED),
        lost: fc.nat({ max: 3 }),
        isCut: fc.boolean(),
      }),
    },
    {
      weight: hasKindsGone ? 1 : 0,
      arbitrary: fc.record({
        type: fc.constant('unserve' as const),
        kind: fc.constantFrom(...MONITORED),
      }),
    },
  )
  return fc.array(action, { minLength: 1, maxLength, size: 'max' })
}

const HOLD = 'example.com/hold'

export function act(cluster: ModelCluster, action: Action, serial: number): void {
  switch (action.type) {
    case 'relist':
      return cluster.relist(action.kind, action.lost, action.isCut)
    case 'unserve':
      return cluster.unserve(action.kind)
    case 'create':
      return create(cluster, action, serial)
    default: {
      const object = picked([...cluster.objects.values()], action.pick)
      if (object !== undefined) actOn(cluster, action, object)
    }
  }
}

function picked<T>(among: readonly T[], pick: number): T | undefined {
  return among[pick % Math.max(1, among.length)]
}

function actOn(cluster: ModelCluster, action: ObjectAction, object: ObjectMeta): void {
  switch (action.type) {
    case 'refer': {
      const ownerReferences = referencesOf(cluster, action.references, object)
      return cluster.update(object.uid, { ownerReferences })
    }
    case 'release': {
      const finalizers = object.finalizers.filter((each) => each !== HOLD)
      return cluster.update(object.uid, { finalizers })
    }
    case 'touch':
      return cluster.touch(object.uid)
    case 'mark': {
      // It is never changed afterwards.
      const { createdAt: _, ...read } = readOf(object, action.marks)
      return cluster.update(object.uid, read)
    }
    case 'delete':
      cluster.delete(object.uid, action.policy)
  }
}

function create(cluster: ModelCluster, action: CreateAction, serial: number): void {
  const kind = kindNotation(action.kind)
  const namespace = kind.scope === 'Namespaced' ? action.namespace : ''
  const bare: ObjectMeta = {
    ...kind,
    namespace,
    name: action.name,
    uid: `${action.kind}-${action.name}-${serial}`,
    resourceVersion: '',
    generation: null,
    createdAt: 0,
    deletedAt: null,
    graceSeconds: null,
    finalizers: action.finalizers,
    ownerReferences: [],
    labels: [],
    annotations: [],
    projected: null,
    ...(action.marks && readOf(kind, action.marks)),
  }
  cluster.create({ ...bare, ownerReferences: referencesOf(cluster, action.references, bare) })
}

/** As a watcher publishes it that knows the rules. */
function readOf(
  { group, kind }: Pick<ObjectMeta, 'group' | 'kind'>,
  { createdAt, labels, annotations, fields }: Marks,
): Pick<ObjectMeta, 'createdAt' | 'labels' | 'annotations' | 'projected'> {
  const reads = rulesOfKind(RULES, { group, kind })?.reads
  if (reads === undefined) return { createdAt, labels: [], annotations: [], projected: null }
  const of = (pairs: readonly Pair[], keys: readonly string[]): readonly Pair[] =>
    pairs.filter(({ key }) => keys.includes(key))
  return {
    createdAt,
    labels: of(labels, reads.labels),
    annotations: of(annotations, reads.annotations),
    projected: { reads: reads.digest, fields: of(fields, reads.fields), policy: null },
  }
}

function referencesOf(
  cluster: ModelCluster,
  specs: readonly ReferenceSpec[],
  dependent: ObjectMeta,
): OwnerReference[] {
  return specs.flatMap((spec) => {
    // The order of their deletions may be a matter of chance.
    const departed = cluster.departed.toSorted((a, b) => (a.uid < b.uid ? -1 : 1))
    const among = spec.flaw === 'departed' ? departed : [...cluster.objects.values()]
    const owner = spec.flaw === 'self' ? dependent : picked(among, spec.pick)
    return owner === undefined ? [] : [referenceTo(owner, spec)]
  })
}

function referenceTo(owner: ObjectMeta, { flaw, blocking }: ReferenceSpec): OwnerReference {
  const reference: OwnerReference = {
    apiVersion: apiVersionOf(owner.group, owner.version),
    kind: owner.kind,
    name: owner.name,
    uid: owner.uid,
    controller: null,
    blockOwnerDeletion: blocking ? true : null,
  }
  switch (flaw) {
    case 'lower':
      return { ...reference, kind: owner.kind.toLowerCase() }
    case 'uid':
      return { ...reference, uid: `nobody-${owner.uid}` }
    case 'kind':
      return { ...reference, apiVersion: 'v1', kind: 'ConfigMap' }
    case 'name':
      return { ...reference, name: 'elsewhere' }
    case 'version':
      return { ...reference, apiVersion: apiVersionOf(owner.group, 'v0') }
    case 'unserved':
      return { ...reference, apiVersion: 'example.com/v1', kind: 'Widget' }
    default:
      return reference
  }
}
