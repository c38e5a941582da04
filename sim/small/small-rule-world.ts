/**
 * The small worlds with one rule, as text.
 *
 * What must stay true: a world with a new kind of rule is small enough for all its ways, or for
 * most of them.
 *
 * Not here: what a line does (small-rule.ts).
 */

/** A rule in its notation, and what happens: the lines of `#happen`. */
export interface RuleWorld {
  readonly rule: string
  readonly script: readonly string[]
}

/** Time begins at 20 s. */
export const RULE_WORLDS: readonly RuleWorld[] = [
  { rule: 'r pod 60', script: ['+ pod/a', 'enforce', 'wait 30', 'wait 30'] },
  { rule: 'r pod 60', script: ['+ pod/a', 'enforce', 'wait 60', 'suspend'] },
  { rule: 'r pod 60', script: ['enforce', '+ pod/a', 'wait 30', '~ pod-a', 'wait 30'] },
  {
    rule: 'r pod 60 label:tier=temp',
    script: ['enforce', '+ pod/a [label:tier=temp]', '= pod/a', 'wait 60'],
  },
  {
    rule: 'r pod 60 no-label:keep',
    script: ['enforce', '+ pod/a', 'wait 60', '= pod/a [label:keep=yes]'],
  },
  {
    rule: 'r cm 0 expires:e',
    script: [
      ...['enforce', '+ cm/a [annotation:e=1970-01-01T00:01:00Z]'],
      ...['= cm/a [annotation:e=1970-01-01T00:02:00Z]', 'wait 60', 'wait 60'],
    ],
  },
  { rule: 'r pod 60 for:30', script: ['enforce', '+ pod/a', 'wait 60', 'wait 30'] },
  {
    rule: 'r pod 60 limit:1 namespace:ns',
    script: ['enforce', '+ pod/a', '+ pod/b', 'wait 60', 'wait 60'],
  },
  {
    rule: 'r pod 60',
    script: ['enforce', '+ rs/w', '+ pod/a <- rs/w', '- rs-w', 'wait 60'],
  },
  { rule: 'r pod 60', script: ['enforce', '+ pod/a', 'wait 60', '- pod-a', '+ pod/a@b'] },
  { rule: 'r pod 60 foreground', script: ['enforce', '+ pod/a', '+ cm/b <- pod/a', 'wait 60'] },
  {
    rule: 'r pod 0 keep:1 by:namespace',
    script: ['enforce', '+ pod/a [created:1]', '+ pod/b [created:2]', '- pod-b', '~ pod-a'],
  },
  {
    rule: 'r pod 0 keep:1 by:cluster',
    script: [
      ...['enforce', '+ pod/a [created:1]', '+ pod/b [created:2]', '- pod-b'],
      '+ pod/c in other [created:3]',
    ],
  },
  {
    rule: 'r pod 0 keep:1 by:owner',
    script: ['enforce', '+ rs/w', '+ pod/a <- rs/w* [created:1]', '+ pod/b <- rs/w* [created:2]'],
  },
  {
    rule: 'r pod 0 for:40 no-node:spec.nodeName',
    script: [
      ...['enforce', '+ node/n', '+ pod/a [field:spec.nodeName=n]', '- node-n', 'wait 60'],
      '+ node/n@again',
    ],
  },
  {
    rule: 'r pod 0 keep:1 by:namespace',
    script: [
      ...['+ pod/a [created:1]', '+ pod/b [created:2]', 'silent pod', '- pod-b', 'enforce'],
      'heard pod',
    ],
  },
  {
    rule: 'r pod 0 for:40 no-node:spec.nodeName',
    script: [
      ...['+ pod/a [field:spec.nodeName=n]', 'wait 60', 'silent node', '+ node/n', 'enforce'],
      'heard node',
    ],
  },
  {
    rule: 'ns/old pod 60 namespace:ns',
    script: ['policy enforced', '+ pod/a', 'wait 60', 'policy'],
  },
  {
    rule: 'ns/old pod 60 namespace:ns',
    script: ['policy enforced', '+ pod/a', '- policy-0', 'wait 60', 'policy enforced'],
  },
]
