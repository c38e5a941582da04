/**
 * What people decide about Kinfold: mode, preset and the constants of DESIGN that a verdict depends on.
 *
 * What must stay true: the fold reads these from a folded `PolicyChanged` event and from nowhere else.
 */

/** `observe` records only; `dry-run` asks the server without doing; `enforce` acts. */
export type Mode = 'observe' | 'dry-run' | 'enforce'

/** `parity` acts on every class but E4 at once; `guarded` holds by class. */
export type Preset = 'parity' | 'guarded'

export interface Policy {
  readonly mode: Mode
  readonly preset: Preset
  /** One version of the fold decides per partition; another one refuses to fold. */
  readonly foldVersion: number
}

export const FOLD_VERSION = 3

/** Of a fresh install on a cluster. */
export const DEFAULT_POLICY: Policy = {
  mode: 'dry-run',
  preset: 'guarded',
  foldVersion: FOLD_VERSION,
}
