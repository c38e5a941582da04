/**
 * The rules of a DELETE that need nothing but the object and the options (B67 to B70):
 * preconditions, the changes of the collector's finalizers, grace, marking.
 *
 * What must stay true: precedence is explicit option, then a finalizer already there, then the
 * kind's default (B67).
 *
 * Not here: carrying it out (removal.ts).
 */
import {
  FINALIZER_FOREGROUND,
  FINALIZER_ORPHAN,
  type PropagationPolicy,
} from '../../../../core/model/object.ts'
import type { Kind } from '../kind.ts'
import { type ApiObject, isJsonObject, type Metadata, objectAt, timestampOf } from '../object.ts'
import { type ApiRequest, parsed } from '../request.ts'
import { badRequest, type Cause, invalid, preconditionFailed } from '../status.ts'
import { withMetadata } from '../storage.ts'

export interface DeleteOptions {
  readonly uid: string | undefined
  readonly resourceVersion: string | undefined
  readonly propagationPolicy: PropagationPolicy | undefined
  readonly orphanDependents: boolean | undefined
  readonly gracePeriodSeconds: number | undefined
  readonly isDryRun: boolean
}

export const BACKGROUND: DeleteOptions = {
  uid: undefined,
  resourceVersion: undefined,
  propagationPolicy: 'Background',
  orphanDependents: undefined,
  gracePeriodSeconds: undefined,
  isDryRun: false,
}

const DEFAULT_GRACE_SECONDS = 30
const POLICIES = ['Foreground', 'Background', 'Orphan']
const OPTIONS = { kind: 'DeleteOptions', group: 'meta.k8s.io' }

/**
 * A body hides the query altogether, `dryRun` included: that is how a dry run in the URL deletes.
 */
export function deleteOptionsIn(request: ApiRequest, query: URLSearchParams): DeleteOptions {
  const hasBody = request.body !== null && request.body !== ''
  const given = hasBody
    ? parsed(request.body, 'the delete options are unrecognized')
    : fromQuery(query)
  if (!isJsonObject(given)) throw badRequest('the delete options are no object')
  const dryRun = given['dryRun'] ?? []
  validate(given, dryRun)
  const preconditions = objectAt(given, 'preconditions')
  const grace = given['gracePeriodSeconds']
  return {
    uid: preconditions['uid'] as string | undefined,
    resourceVersion: preconditions['resourceVersion'] as string | undefined,
    propagationPolicy: (given['propagationPolicy'] ?? undefined) as PropagationPolicy | undefined,
    orphanDependents: (given['orphanDependents'] ?? undefined) as boolean | undefined,
    // A negative one counts as one second.
    gracePeriodSeconds: typeof grace === 'number' ? (grace < 0 ? 1 : grace) : undefined,
    isDryRun: Array.isArray(dryRun) && dryRun.includes('All'),
  }
}

function fromQuery(query: URLSearchParams): object {
  const orphan = query.get('orphanDependents')
  const grace = query.get('gracePeriodSeconds')
  return {
    dryRun: query.getAll('dryRun'),
    ...(query.has('propagationPolicy') && { propagationPolicy: query.get('propagationPolicy') }),
    ...(orphan !== null && { orphanDependents: orphan === 'true' }),
    ...(grace !== null && { gracePeriodSeconds: Number(grace) }),
  }
}

function validate(given: Readonly<Record<string, unknown>>, dryRun: unknown): void {
  const policy = given['propagationPolicy'] ?? undefined
  const causes: Cause[] = []
  const field = 'propagationPolicy'
  if (policy !== undefined && (given['orphanDependents'] ?? undefined) !== undefined) {
    const message = `Invalid value: "${policy}": orphanDependents and deletionPropagation cannot be both set`
    causes.push({ reason: 'FieldValueInvalid', message, field })
  }
  if (policy !== undefined && !POLICIES.includes(String(policy))) {
    const supported = [...POLICIES, 'nil'].map((it) => `"${it}"`).join(', ')
    const message = `Unsupported value: "${policy}": supported values: ${supported}`
    causes.push({ reason: 'FieldValueNotSupported', message, field })
  }
  if (!Array.isArray(dryRun) || dryRun.some((it) => it !== 'All')) {
    const message = `Unsupported value: ${JSON.stringify(dryRun)}: supported values: "All"`
    causes.push({ reason: 'FieldValueNotSupported', message, field: 'dryRun' })
  }
  if (causes.length > 0) throw invalid(OPTIONS, '', causes)
}

export function checkPreconditions(kind: Kind, metadata: Metadata, options: DeleteOptions): void {
  const { name, uid, resourceVersion } = metadata
  if (options.uid !== undefined && options.uid !== uid) {
    const why = `the UID in the precondition (${options.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`
    throw preconditionFailed(kind, name, why)
  }
  if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
    const why = `the ResourceVersion in the precondition (${options.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion}). The object might have been modified`
    throw preconditionFailed(kind, name, why)
  }
}

/** The finalizers afterwards; the very same array when they stay. */
export function finalizersAfter(
  kind: Kind,
  finalizers: readonly string[],
  options: DeleteOptions,
): readonly string[] {
  const wanted = collectorFinalizer(kind, finalizers, options)
  const present = finalizers.filter(isOfCollector)
  if (wanted === undefined ? present.length === 0 : present.join() === wanted) return finalizers
  const others = finalizers.filter((finalizer) => !isOfCollector(finalizer))
  return wanted === undefined ? others : [...others, wanted]
}

function collectorFinalizer(
  kind: Kind,
  finalizers: readonly string[],
  options: DeleteOptions,
): string | undefined {
  if (kind.defaultPolicy === 'Unsupported') return undefined
  if (options.orphanDependents !== undefined) {
    return options.orphanDependents ? FINALIZER_ORPHAN : undefined
  }
  switch (options.propagationPolicy) {
    case 'Orphan':
      return FINALIZER_ORPHAN
    case 'Foreground':
      return FINALIZER_FOREGROUND
    case 'Background':
      return undefined
    case undefined:
      return (
        finalizers.find(isOfCollector) ??
        (kind.defaultPolicy === 'Orphan' ? FINALIZER_ORPHAN : undefined)
      )
  }
}

function isOfCollector(finalizer: string): boolean {
  return finalizer === FINALIZER_ORPHAN || finalizer === FINALIZER_FOREGROUND
}

/**
 * The grace period of this DELETE: none, one that is pending already, or the seconds it gets (also
 * none of them).
 */
export type Grace = 'none' | 'pending' | { readonly seconds: number; readonly endsAtMs: number }

export function graceOf(
  kind: Kind,
  object: ApiObject,
  options: DeleteOptions,
  nowMs: number,
): Grace {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = object.metadata
  if (!kind.graceful) return 'none'
  if (deletionTimestamp === undefined) {
    const seconds = firstGraceSeconds(object, options)
    return { seconds, endsAtMs: nowMs + seconds * 1000 }
  }
  if (deletionGracePeriodSeconds === 0) return 'none'
  const asked = options.gracePeriodSeconds
  // It can only be shortened (B69), and then counts from the first DELETE.
  if (asked === undefined || asked >= deletionGracePeriodSeconds) return 'pending'
  const markedAtMs = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000
  return { seconds: asked, endsAtMs: markedAtMs + asked * 1000 }
}

/** Only objects that run on a node have a grace period. */
function firstGraceSeconds(object: ApiObject, options: DeleteOptions): number {
  const spec = objectAt(object, 'spec')
  const phase = objectAt(object, 'status')['phase']
  if (!spec['nodeName'] || phase === 'Succeeded' || phase === 'Failed') return 0
  return (
    options.gracePeriodSeconds ??
    Number(spec['terminationGracePeriodSeconds'] ?? DEFAULT_GRACE_SECONDS)
  )
}

/** As being deleted: for the first time, or with less grace than before. */
export function marked(object: ApiObject, seconds: number, endsAtMs: number): ApiObject {
  const { deletionTimestamp, generation } = object.metadata
  const isFirst = deletionTimestamp === undefined
  return withMetadata(object, {
    deletionTimestamp: timestampOf(endsAtMs),
    deletionGracePeriodSeconds: seconds,
    ...(isFirst && generation !== undefined && generation > 0 && { generation: generation + 1 }),
  })
}
