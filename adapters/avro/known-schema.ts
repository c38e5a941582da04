/**
 * The schemas that records are read by, in canonical form, by their fingerprints: for who has to
 * show them. Not here: reading by them (codec.ts).
 */
import { recordSchemas } from './codec.ts'
import { RECORD_TYPE_NAMES } from './record-type.ts'
import { canonicalForm, fingerprintOf } from './schema.ts'
import { NAMESPACE } from './schema-file.ts'

export function knownSchemas(): ReadonlyMap<
  string,
  { readonly name: string; readonly fingerprint: string; readonly text: string }
> {
  const schemas = recordSchemas(RECORD_TYPE_NAMES).flatMap(({ name, current, former }) =>
    [current, ...former].map((schema) => {
      const fingerprint = fingerprintOf(schema)
      return { name: `${NAMESPACE}.${name}`, fingerprint, text: canonicalForm(schema) }
    }),
  )
  return new Map(schemas.map((schema) => [schema.fingerprint, schema]))
}
