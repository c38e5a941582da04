/**
 * The path of a field that a rule reads: `spec.nodeName`,
 * `status.conditions[type=Complete].lastTransitionTime`, `data.expiration:base64`.
 *
 * What must stay true: a path names one field, or none; what cannot be read is refused when the
 * rule is written, and never later.
 *
 * Not here: reading it from an object (adapters/kubernetes).
 */

export interface FieldPath {
  readonly steps: readonly PathStep[]
  /** How the text is read: as it is, decoded, or the end of a PEM certificate's validity. */
  readonly as: 'text' | 'base64' | 'not-after'
}

export type PathStep =
  | { readonly type: 'field'; readonly name: string }
  /** The first element of a list whose field has that value. */
  | { readonly type: 'element'; readonly name: string; readonly value: string }

const STEP =
  /^([A-Za-z][A-Za-z0-9_-]{0,62})(?:\[([A-Za-z][A-Za-z0-9_-]{0,62})=([\w./:-]{1,128})\])?$/
const MOST_STEPS = 8
const MOST_LENGTH = 253

/** Undefined for a text that is no path. */
export function readPath(text: string): FieldPath | undefined {
  if (text.length > MOST_LENGTH) return undefined
  const [, path = '', as] = /^(.*?)(?::(base64|not-after))?$/.exec(text) ?? []
  const parts = path.split(/\.(?![^[]*\])/)
  if (parts.length > MOST_STEPS) return undefined
  const steps: PathStep[] = []
  for (const part of parts) {
    const [, name, key, value = ''] = STEP.exec(part) ?? []
    if (name === undefined) return undefined
    steps.push({ type: 'field', name })
    if (key !== undefined) steps.push({ type: 'element', name: key, value })
  }
  return { steps, as: as === 'base64' || as === 'not-after' ? as : 'text' }
}

/** All that the fields of one object may take together: characters of paths and values. */
export const MOST_PROJECTED = 1_024
/** `Projected.reads` of an object beyond that: no rule decides about it. */
export const BEYOND_READS = 'beyond-caps'
