/**
 * The kinds that a rule is about.
 *
 * What must stay true: a kind whose objects all others need, or that are storage, is refused in any
 * rule; of PersistentVolumes a rule only reports (core/model/rule/report.ts). A kind that Kinfold
 * and the cluster live by takes a rule that selects among its objects: age alone would mean all of
 * them, and the oldest are the cluster's own.
 *
 * Not here: what is protected whatever a rule says (core/graph/guarding.ts).
 */
import type { GroupKind } from '../../core/model/object.ts'
import { policyFor } from '../../core/model/policy.ts'
import { reportsBecause } from '../../core/model/rule/report.ts'
import { voidSubject } from '../record/void-subject.ts'
import { bad, texts } from './setting.ts'

const MOST = 50
/** As a manifest has it; its group behind a dot. */
const KIND: RegExp = /^[A-Z][A-Za-z0-9]{0,62}(\.[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$/

const OF_ALL = 'all objects of other kinds go with one'
const STORAGE = 'a rule deletes no storage'
const GUARDS = 'it guards the whole cluster'
const ITSELF = 'it is a rule itself'
const NEVER: Readonly<Record<string, string>> = {
  Node: 'the pods on it go with one',
  'CustomResourceDefinition.apiextensions.k8s.io': OF_ALL,
  'APIService.apiregistration.k8s.io': OF_ALL,
  'VolumeSnapshotContent.snapshot.storage.k8s.io': STORAGE,
  'VolumeGroupSnapshotContent.groupsnapshot.storage.k8s.io': STORAGE,
  'StorageClass.storage.k8s.io': STORAGE,
  'MutatingWebhookConfiguration.admissionregistration.k8s.io': GUARDS,
  'ValidatingWebhookConfiguration.admissionregistration.k8s.io': GUARDS,
  'MutatingAdmissionPolicy.admissionregistration.k8s.io': GUARDS,
  'MutatingAdmissionPolicyBinding.admissionregistration.k8s.io': GUARDS,
  'ValidatingAdmissionPolicy.admissionregistration.k8s.io': GUARDS,
  'ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io': GUARDS,
  'CleanupPolicy.kinfold.dev': ITSELF,
  'ClusterCleanupPolicy.kinfold.dev': ITSELF,
  Event: 'Events are never watched',
  'Event.events.k8s.io': 'Events are never watched',
}

/** They hold data, rights, or who leads. */
const CAREFUL: ReadonlySet<string> = new Set([
  ...policyFor('dry-run', 'guarded').protection.kinds.map(kindText),
  ...['ConfigMap', 'ServiceAccount', 'Lease.coordination.k8s.io'],
])

export function kindText({ group, kind }: GroupKind): string {
  return group === '' ? kind : `${kind}.${group}`
}

/** Whether a rule about it has to select more than by age. */
export function isCareful(kind: GroupKind): boolean {
  return CAREFUL.has(kindText(kind))
}

export function ruleKinds(value: unknown, from: string): readonly GroupKind[] {
  const kinds = kindsIn(value, from)
  for (const kind of kinds) checkKind(kindText(kind), from)
  const report = reportsBecause({ kinds })
  if (report === '' || kinds.length === 1) return kinds
  throw bad(`${from}: a rule that only reports is about one kind (${report})`)
}

/** At least one, whichever it is. */
export function kindsIn(value: unknown, from: string): readonly GroupKind[] {
  const all = texts({ key: 'kinds', value, from })
  if (all.length === 0) throw bad(`${from}: expected kinds such as [Pod, Job.batch]`)
  if (all.length > MOST) throw bad(`${from}: ${all.length} kinds, and ${MOST} are the most`)
  return [...new Set(all)].map((text) => kindIn(text, from))
}

function checkKind(text: string, from: string): void {
  const why = Object.hasOwn(NEVER, text) ? NEVER[text] : undefined
  if (why !== undefined) throw bad(`${from}: no rule is about ${text}: ${why}`)
}

/** One that may be served by some cluster: a core kind has no other name. */
export function kindIn(text: string, from: string): GroupKind {
  const vain = voidSubject(`kind/${text}`)
  if (vain !== '') throw bad(`${from}: ${vain}`)
  if (!KIND.test(text)) {
    const shown = JSON.stringify(text.slice(0, 200))
    throw bad(`${from}: ${shown} is no kind, such as Pod or Widget.example.com`)
  }
  const [kind = '', ...group] = text.split('.')
  return { group: group.join('.'), kind }
}
