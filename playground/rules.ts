/**
 * The rule of the playground: what its reports leave behind, in dry run until its user enforces it.
 *
 * What must stay true: it is about objects that the workload makes (workload.ts), and about nothing
 * of a user's.
 */
import type { Rule } from '../core/model/rule/rule.ts'

export const RULE_NAME = 'old-summaries'
export const SUMMARY_LABELS = { app: 'report', 'playground.kinfold.dev/part': 'summary' } as const

const AFTER_MS = 30_000

export const PLAYGROUND_RULES: readonly Rule[] = [
  {
    name: RULE_NAME,
    match: {
      kinds: [{ group: '', kind: 'ConfigMap' }],
      namespaces: ['shop'],
      exceptNamespaces: [],
      labels: [{ key: 'playground.kinfold.dev/part', operator: 'in', values: ['summary'] }],
      annotations: [],
      expression: null,
      owner: null,
      terminating: false,
    },
    cases: [{ fields: [], since: { type: 'created' }, after: { type: 'fixed', ms: AFTER_MS } }],
    propagationPolicy: 'Background',
    gracePeriodSeconds: null,
    failFirst: false,
    account: null,
    forMs: 0,
    limit: null,
    warnMs: 0,
    keep: null,
    absent: null,
    beside: null,
    unused: null,
    elsewhere: null,
    annotate: null,
  },
]
