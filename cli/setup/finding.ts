/**
 * What a check of `kinfold doctor` has found.
 *
 * What must stay true: a text says what to do. Not here: the checks (checkup.ts, rule-rights.ts).
 */
import type { Check } from '../../runtime/health.ts'

/**
 * `warning`: Kinfold starts and works all the same; `failed`: something is missing that it needs.
 */
export interface Finding {
  readonly state: Check['state']
  readonly text: string
}
