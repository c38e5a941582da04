/**
 * What each command and each order can promise in each mode: the one table that orders are checked
 * against and docs/operate/directives.md prints.
 *
 * What must stay true: no answer to an order promises an effect that the mode does not have. In
 * mode observe another collector deletes, and no order to Kinfold stops it.
 *
 * Not here: carrying an order out (orders/directive-http.ts).
 */
import type { Mode } from '../../../core/model/policy.ts'

export const VERBS = [
  'pause',
  'resume',
  'protect',
  'unprotect',
  'approve',
  'reject',
  'close-breaker',
  'enforce-rule',
  'suspend-rule',
  'remove-finalizer',
  'forget-cluster',
  'remember-cluster',
  'confirm-clock',
] as const
export type Verb = (typeof VERBS)[number]

export interface Promised {
  /**
   * False: the mode cannot keep it, so the order is refused unless it is to be recorded all the
   * same.
   */
  readonly isKept: boolean
  /** A sentence; empty where there is nothing to say beside the order's own effect. */
  readonly says: string
  /** True: the order ends what had no effect, so its own effect is not said. */
  readonly isIdle: boolean
}

type ByMode = Readonly<Record<Mode, Promised>>

const KEPT: Promised = { isKept: true, says: '', isIdle: false }
const OBSERVED =
  'in mode observe Kinfold deletes nothing, and cannot stop the cluster’s own collector'
const TRIED = 'In mode dry-run Kinfold deletes nothing; the cluster’s own collector is not stopped.'

function vain(what: string): Promised {
  return { isKept: false, says: `${what}: ${OBSERVED}`, isIdle: false }
}

function kept(says: string): Promised {
  return { isKept: true, says, isIdle: false }
}

/** Takes back what held nothing. */
function idle(what: string): Promised {
  return { isKept: true, says: `It ends now. In mode observe ${what} nothing.`, isIdle: true }
}

export const PROMISES: Readonly<Record<Verb, ByMode>> = {
  pause: { observe: vain('a pause stops nothing'), 'dry-run': kept(TRIED), enforce: KEPT },
  resume: { observe: idle('a pause stops'), 'dry-run': KEPT, enforce: KEPT },
  protect: { observe: vain('it protects nothing'), 'dry-run': kept(TRIED), enforce: KEPT },
  unprotect: { observe: idle('an order protects'), 'dry-run': KEPT, enforce: KEPT },
  approve: {
    observe: vain('an approval releases nothing'),
    'dry-run': kept('In mode dry-run nothing is deleted: what it releases is only tried.'),
    enforce: KEPT,
  },
  reject: { observe: vain('a rejection keeps nothing'), 'dry-run': kept(TRIED), enforce: KEPT },
  'close-breaker': {
    observe: vain('it releases nothing'),
    'dry-run': kept('In mode dry-run nothing is deleted: what it releases is only tried.'),
    enforce: KEPT,
  },
  'enforce-rule': {
    observe: vain('no rule deletes anything'),
    'dry-run': kept('In mode dry-run nothing is deleted: what it releases is only tried.'),
    enforce: KEPT,
  },
  'suspend-rule': { observe: idle('a rule deletes'), 'dry-run': KEPT, enforce: KEPT },
  'remove-finalizer': {
    observe: vain('it removes nothing'),
    'dry-run': kept(
      'In mode dry-run nothing is removed: the server is only asked whether it would.',
    ),
    enforce: KEPT,
  },
  'forget-cluster': {
    observe: vain('it keeps nothing'),
    'dry-run': kept(TRIED),
    enforce: KEPT,
  },
  'remember-cluster': { observe: idle('a rule deletes'), 'dry-run': KEPT, enforce: KEPT },
  'confirm-clock': { observe: KEPT, 'dry-run': KEPT, enforce: KEPT },
}

/** What questions and other commands promise, in sentences for people. */
export const ANSWERED: readonly (readonly [
  commands: string,
  by: Readonly<Record<Mode, string>>,
])[] = [
  [
    '`get`, `tree`, `why`, `history`, `deletions`, `diff`',
    {
      observe: 'what was observed, whoever deleted it',
      'dry-run': 'the same',
      enforce: 'the same, and what Kinfold did',
    },
  ],
  [
    '`plan delete`',
    {
      observe:
        'what the owner references say; the cluster’s own collector decides by its own rules',
      'dry-run': 'what Kinfold would delete',
      enforce: 'what Kinfold would delete, and what would hold it',
    },
  ],
  [
    '`delete`',
    {
      observe: 'deletes one object with your account; its dependents are the other collector’s',
      'dry-run':
        'deletes one object with your account; its dependents stay, unless another collector runs',
      enforce: 'deletes one object with your account; Kinfold deletes its dependents',
    },
  ],
  [
    '`held`',
    {
      observe: 'nothing is held; orders that were recorded',
      'dry-run': 'what would be held',
      enforce: 'what is held, and what releases it',
    },
  ],
  [
    '`shadow`',
    {
      observe: 'compares with the cluster’s own collector',
      'dry-run': 'compares nothing',
      enforce: 'compares nothing',
    },
  ],
  [
    '`restore`',
    {
      observe: 'creates again what the archive has, with your account',
      'dry-run': 'the same',
      enforce: 'the same',
    },
  ],
]

const MODES: readonly Mode[] = ['observe', 'dry-run', 'enforce']

/** As Markdown. */
export function promiseTable(): string {
  const orders = VERBS.map((verb) => {
    const cells = MODES.map((mode) => cellOf(PROMISES[verb][mode]))
    return `| \`${verb}\` | ${cells.join(' | ')} |`
  })
  const questions = ANSWERED.map(([commands, by]) => {
    return `| ${commands} | ${MODES.map((mode) => by[mode]).join(' | ')} |`
  })
  const head = `| | ${MODES.map((mode) => `\`--mode ${mode}\``).join(' | ')} |`
  return [head, '|---|---|---|---|', ...orders, ...questions].join('\n')
}

function cellOf({ isKept, says }: Promised): string {
  if (!isKept) return `refused: ${says}`
  return says === '' ? 'takes effect' : says
}
