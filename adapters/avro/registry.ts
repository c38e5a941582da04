/**
 * A schema registry (Confluent's REST interface): the schemas of the public records are registered
 * there, so that other tools find them by the ids in the records.
 *
 * What must stay true: only ids of schemas that are here, in the very same version, are used;
 * nothing else in the registry is read.
 *
 * Not here: internal records. Their bytes are part of digests, and must not depend on the ids of a
 * registry.
 */
import type { Codec } from '../../ports/record/codec.ts'
import { avroCodec, recordSchemas, type SchemaIds } from './codec.ts'
import { PUBLIC_TYPE_NAMES } from './record-type.ts'
import { fingerprintOf, type Schema } from './schema.ts'
import { NAMESPACE, type RecordSchema } from './schema-file.ts'

/** For all of the few requests at a start. */
const WITHIN_MS = 10_000
const MEDIA_TYPE = 'application/vnd.schemaregistry.v1+json'
const MOST_WORDS = 300

export interface Registry {
  readonly url: string
  /** `USER:PASSWORD` */
  readonly credentials?: string | undefined
}

export class RegistryError extends Error {
  override readonly name = 'RegistryError'
  readonly code: 'UNREACHABLE' | 'REFUSED'

  constructor(code: RegistryError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Writes public records by the ids of the registry. */
export async function registeredCodec(registry: Registry): Promise<Codec> {
  return avroCodec(await register(registry, recordSchemas(PUBLIC_TYPE_NAMES)))
}

/** Current versions are registered; former ones are only searched for. */
export async function register(
  registry: Registry,
  schemas: readonly RecordSchema[],
): Promise<SchemaIds> {
  const signal = AbortSignal.timeout(WITHIN_MS)
  const ids = new Map<string, number>()
  for (const { name, current, former } of schemas) {
    const subject = `${NAMESPACE}.${name}`
    const path = `/subjects/${encodeURIComponent(subject)}`
    const id = await ask(registry, `${path}/versions`, subject, current, signal)
    if (id === undefined) throw refused(registry, subject, 'it knows no such address')
    ids.set(fingerprintOf(current), id)
    for (const schema of former) {
      const known = await ask(registry, path, subject, schema, signal)
      if (known !== undefined) ids.set(fingerprintOf(schema), known)
    }
  }
  return ids
}

/** Undefined where it is not known. */
async function ask(
  registry: Registry,
  path: string,
  subject: string,
  schema: Schema,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { status, body } = await send(registry, path, schema, signal)
  const { id, message = body } = answerIn(body)
  switch (status) {
    case 200:
      if (Number.isInteger(id)) return id
      throw refused(registry, subject, `it answers without an id: ${body.slice(0, MOST_WORDS)}`)
    case 404:
      return undefined
    case 401:
    case 403:
      throw refused(registry, subject, `it refuses us: see --schema-registry-credentials-file`)
    case 409:
      throw refused(
        registry,
        subject,
        `it holds this version incompatible with an earlier one (${message.slice(0, MOST_WORDS)}): see the compatibility of that subject`,
      )
    default:
      throw refused(registry, subject, `it answers ${status}: ${message.slice(0, MOST_WORDS)}`)
  }
}

async function send(
  { url, credentials }: Registry,
  path: string,
  schema: Schema,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly body: string }> {
  const authorization = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`
  try {
    const response = await fetch(url.replace(/\/$/, '') + path, {
      method: 'POST',
      headers: { 'content-type': MEDIA_TYPE, ...(authorization && { authorization }) },
      body: JSON.stringify({ schema: JSON.stringify(schema) }),
      redirect: 'error',
      signal,
    })
    return { status: response.status, body: await response.text() }
  } catch (error) {
    const { cause, message } = error as Error
    const why = cause instanceof Error && cause.message !== '' ? cause.message : message
    throw new RegistryError(
      'UNREACHABLE',
      `the schema registry at ${url} cannot be reached (${why}); check that it runs, and that the address is right, or leave out --schema-registry`,
      { cause: error },
    )
  }
}

function answerIn(body: string): { readonly id?: number; readonly message?: string } {
  try {
    return JSON.parse(body) as { id?: number; message?: string }
  } catch {
    return {}
  }
}

function refused({ url }: Registry, subject: string, what: string): RegistryError {
  return new RegistryError('REFUSED', `the schema registry at ${url}, ${subject}: ${what}`)
}
