/**
 * The annotation by which an object names an owner in another cluster, for who reads and writes
 * whole objects.
 *
 * Not here: which owners count (core/judge/elsewhere.ts).
 */
import { OWNER_ANNOTATION, ownerElsewhere } from '../../core/model/rule/elsewhere.ts'

export const OWNER_ELSEWHERE: string = OWNER_ANNOTATION

/** Its text among all annotations of an object; empty where it names no such owner. */
export function ownerElsewhereText(annotations: Readonly<Record<string, unknown>>): string {
  const text = annotations[OWNER_ANNOTATION]
  return typeof text === 'string' && ownerElsewhere(text) !== null ? text : ''
}
