/**
 * What clusters and the words of records are called where people read them: in a terminal, in the
 * columns that kubectl prints, and on the page.
 *
 * What must stay true: a word that is not known here is shown as it is. It imports types alone:
 * the client and the page have it in them.
 */
import type { VerdictType } from '../../../core/model/node.ts'
import type { Evidence } from '../../../core/model/proof.ts'
import type { ClusterList } from './answer-schema.ts'
import type { Cluster as ClusterRef } from './part-schema.ts'

/** Its name; with its id where another cluster has that name, too. */
export function labelOf({ name, scope }: Pick<ClusterRef, 'name' | 'scope'>): string {
  return scope === name ? name : `${name} (${scope})`
}

const VERDICTS: Readonly<Record<VerdictType, string>> = {
  keep: 'keep',
  deleting: 'already being deleted',
  blocked: 'blocked',
  verify: 'verify its owners',
  drop: 'remove owner references',
  delete: 'delete',
  annotate: 'annotate',
  wait: 'wait for dependents',
  finish: 'remove its finalizer',
}

export function verdictText(type: VerdictType): string {
  return VERDICTS[type] ?? type
}

type Held = Readonly<Record<'by' | 'because', string>>

/** In few words. */
export function shortText(type: VerdictType, admission: Held | null): string {
  const text = verdictText(type)
  return admission === null ? text : `${text}, held by ${admission.by}`
}

/** The reason of a verdict, and of what holds it. */
export function withHeld(because: string, admission: Held | null): string {
  return admission === null ? because : `${because}; ${admission.because}`
}

/** In full. */
export function judgedText(
  { type, because }: { readonly type: VerdictType; readonly because: string },
  admission: Held | null,
): string {
  return `${shortText(type, admission)}: ${withHeld(because, admission)}`
}

type Overdue = NonNullable<NonNullable<ClusterList['clusters'][number]['status']>['overdue']>

/** Deletions that do not end, and what the first of them waits for. */
export function overdueText({ objects, example }: Overdue): string {
  const head = objects === 1 ? '1 deletion waits' : `${objects.toLocaleString('en')} deletions wait`
  if (example === null) return `${head} for over 10 min`
  const { kind, name, namespace, because } = example
  const place = namespace === '' ? '' : ` in ${namespace}`
  const first = objects === 1 ? ':' : ', first of all'
  return `${head} for over 10 min${first} ${kind}/${name}${place} ${because}`
}

/** `TYPE: because` of a record; those of former versions had two other types. */
export function recordedText(text: string, admission: Held | null = null): string {
  const [, word, because = ''] = /^(\w+): (.*)$/s.exec(text) ?? []
  if (word === undefined) return withHeld(text, admission)
  const type = word === 'reap' ? 'delete' : (word as VerdictType)
  return judgedText({ type, because }, admission)
}

const EVIDENCE: Readonly<Record<Evidence, string>> = {
  orphaning: 'only a reference or a finalizer is removed',
  deleted: 'the deletion was observed',
  waiting: 'its owner waits for its dependents',
  missing: 'missing from a complete list',
  'not-found': 'a live GET answered NotFound',
  bulk: 'a bulk deletion',
  rule: 'a rule of the policy',
}

export function evidenceText(evidence: Evidence): string {
  return EVIDENCE[evidence] ?? evidence
}

const PHASES: Readonly<Record<string, string>> = {
  observed: 'exists',
  deleting: 'being deleted',
  waiting: 'being deleted in the foreground',
  orphaning: 'being deleted, dependents are orphaned',
  reaped: 'deleted, not confirmed yet',
  suspect: 'untrusted until listed again',
  absent: 'deleted',
  gone: 'deleted',
  found: 'exists, not watched',
}

/** Of a cascade. A dependent that only lost the reference was not deleted. */
export function doneText({
  done,
  kept = 0,
}: {
  readonly done: number
  /** Undefined of an answer of an earlier version. */
  readonly kept?: number
}): string {
  if (kept === 0) return `${done} done`
  const exist = kept === 1 ? 'was orphaned, or has another owner, and exists' : ORPHANED
  return `${done} done (${kept} of them ${exist})`
}

const ORPHANED = 'were orphaned, or have another owner, and exist'

/** In a line with others. */
export function phaseText(phase: string): string {
  return PHASES[phase] ?? phase
}

/** In one unit, as kubectl has ages. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** `30s`, `10m`, `1h`: the largest unit that it is a whole number of; never shorter than it is. */
export function spanText(spanMs: number): string {
  const seconds = Math.ceil(spanMs / 1000)
  if (seconds === 0 || seconds % 60 !== 0) return `${seconds}s`
  return seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds / 60}m`
}

/** Of `tool` in answers about managers: an owner that `kinfold.io/owner` names. */
export const FAR_TOOL = 'kinfold'

/** What is said of all rows of an answer about managers. */
export function marksText(
  rows: readonly { readonly manager: { readonly tool: string } }[],
): string {
  const far = rows.filter(({ manager }) => manager.tool === FAR_TOOL).length
  if (far === 0) return 'Seen by marks, not by owner references: Kinfold deletes nothing by them.'
  if (far === rows.length) return 'Seen by annotations, not by owner references: rules decide.'
  return 'Seen by marks, not by owner references: rules decide by kinfold.io/owner, and Kinfold deletes nothing by the others.'
}

/** Uids that one question about what goes along takes. */
export const ALONG_MOST = 200

interface GoingAlong {
  readonly root: { readonly uid: string }
  readonly objects: readonly {
    readonly effect: string
    readonly namespace: string
    readonly uid: string
  }[]
}

/**
 * Of the objects that a plan lists the first that go with its root and that objects of other
 * clusters may name, as `along` takes them: no owner in another cluster is without a namespace.
 * Undefined where there is none.
 */
export function alongOf({ root, objects }: GoingAlong): string | undefined {
  const uids = objects.flatMap(({ effect, namespace, uid }) => {
    const isGoing = effect === 'deleted' || effect === 'stuck'
    return isGoing && namespace !== '' && uid !== root.uid ? [uid] : []
  })
  return uids.length === 0 ? undefined : uids.slice(0, ALONG_MOST).join(',')
}

/** Whether an object of that group may be the manager of anything: those of the tools have one. */
export function mayManage(group: string): boolean {
  return group.includes('.') && !group.endsWith('.k8s.io')
}
