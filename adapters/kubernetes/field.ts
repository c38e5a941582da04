/**
 * Reads from a whole object the fields that rules name.
 *
 * What must stay true: a field is read as it is, or none of the object is (not read is not absent).
 * Nothing of a Secret is read but its type and the expiration of a bootstrap token, whatever a rule
 * says. Only an object's own properties count, and no value is longer than the caps.
 *
 * Not here: which fields rules read (core/model/rule/rule.ts), labels and annotations (meta.ts).
 */
import { X509Certificate } from 'node:crypto'
import type { GroupKind, Pair } from '../../core/model/object.ts'
import {
  type FieldPath,
  MOST_PROJECTED,
  type PathStep,
  readPath,
} from '../../core/model/rule/field-path.ts'
import { isPolicyKind } from '../../core/model/rule/policy-content.ts'
import type { KindReads } from '../../core/model/rule/rule.ts'
import { allReadsIn, type Projection } from '../../ports/record/projection.ts'
import { isJson, type Json } from './json.ts'

const EXPIRATION = 'data.expiration:base64'
const OF_SECRETS: readonly string[] = ['type', EXPIRATION]
/** Names of accounts, which Secrets that are tokens use; and none. */
const OF_TOKENS: readonly string[] = [
  '',
  'metadata.annotations["kubernetes.io/service-account.name"]',
]
const BOOTSTRAP_TOKEN = 'bootstrap.kubernetes.io/token'
/** Has all of a Secret that was applied. */
const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration'
/** In base64, of base64, four characters for three. */
const MOST_ENCODED = 4 * Math.ceil(MOST_PROJECTED / 3)
/** A chain of certificates; the API server takes a megabyte. */
const MOST_CERTIFICATES = 256 * 1_024

/** Whether objects of that kind have to be asked for whole: metadata alone has no fields. */
export function needsWhole(projection: Projection, kind: GroupKind): boolean {
  if (isCompiled(projection, kind)) return true
  return allReadsIn(projection, kind).some((reads) => needsBody(reads) && mayBeRead(reads))
}

/** More than metadata alone has. */
export function needsBody({ fields, uses = [] }: KindReads): boolean {
  return fields.length > 0 || uses.some(({ paths }) => paths.some((path) => !isOfMetadata(path)))
}

function isOfMetadata(path: string): boolean {
  return path === '' || path.startsWith('metadata.')
}

/** Whether they are policies, and have a rule. */
export function isCompiled({ policyContent }: Projection, kind: GroupKind): boolean {
  return policyContent !== undefined && isPolicyKind(kind)
}

/** False only for Secrets, of a rule that names more of them; it is refused where it is written. */
export function mayBeRead({ group, kind, fields, annotations, uses = [] }: KindReads): boolean {
  if (group !== '' || kind !== 'Secret') return true
  if (!uses.every(({ paths }) => paths.every((path) => OF_TOKENS.includes(path)))) return false
  return fields.every((path) => OF_SECRETS.includes(path)) && !annotations.includes(LAST_APPLIED)
}

/**
 * In the order of `reads`, which may be read, without those that are absent. Null: more than the
 * caps.
 */
export function readFields(raw: Json, reads: KindReads): readonly Pair[] | null {
  const fields: Pair[] = []
  let length = 0
  for (const key of reads.fields) {
    if (key === EXPIRATION && isOtherSecret(raw, reads)) continue
    const value = readField(raw, key)
    if (value === null) return null
    if (value === undefined) continue
    length += key.length + value.length
    if (length > MOST_PROJECTED) return null
    fields.push({ key, value })
  }
  return fields
}

function isOtherSecret(raw: Json, { group, kind }: GroupKind): boolean {
  return group === '' && kind === 'Secret' && own(raw, 'type') !== BOOTSTRAP_TOKEN
}

/** Undefined: absent. Null: it cannot be read. */
function readField(raw: Json, key: string): string | undefined | null {
  const path = pathOf(key)
  if (path === undefined) return null
  const value = path.steps.reduce<unknown>(followed, raw)
  switch (path.as) {
    case 'text': {
      const text = textOf(value)
      return text === undefined || text.isWellFormed() ? text : text.toWellFormed()
    }
    case 'base64':
      return typeof value === 'string' ? decoded(value) : undefined
    case 'not-after':
      return typeof value === 'string' ? endOf(value) : undefined
  }
}

/** Of as many paths as rules have; each is read for every object. */
const PATHS = new Map<string, FieldPath | undefined>()
const MOST_PATHS = 4_096

function pathOf(key: string): FieldPath | undefined {
  if (PATHS.has(key)) return PATHS.get(key)
  if (PATHS.size >= MOST_PATHS) PATHS.clear()
  const path = readPath(key)
  PATHS.set(key, path)
  return path
}

function followed(value: unknown, step: PathStep): unknown {
  switch (step.type) {
    case 'field':
      return isJson(value) ? own(value, step.name) : undefined
    case 'element':
      if (!Array.isArray(value)) return undefined
      return value.find((each) => isJson(each) && scalarOf(own(each, step.name)) === step.value)
  }
}

function own(value: Json, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined
}

function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return 'list'
  return isJson(value) ? 'object' : scalarOf(value)
}

function scalarOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decoded(text: string): string | undefined | null {
  if (text.length > MOST_ENCODED) return null
  if (text.length % 4 !== 0 || !BASE64.test(text)) return undefined
  try {
    return UTF_8.decode(Buffer.from(text, 'base64'))
  } catch {
    return undefined
  }
}

/** When the first of some certificates ends that are in PEM, in base64. */
function endOf(text: string): string | undefined | null {
  if (text.length > MOST_CERTIFICATES) return null
  const pem = Buffer.from(text, 'base64').toString('latin1')
  const [first] = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/.exec(pem) ?? []
  if (first === undefined) return undefined
  try {
    return new X509Certificate(first).validToDate.toISOString()
  } catch {
    return undefined
  }
}
