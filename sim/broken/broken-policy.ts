/**
 * Broken builds of CleanupPolicies: whose objects one is about, by whose rights, and while it is
 * enforced; and of what a rule may know while a watch is silent.
 *
 * What must stay true: each is one mistake that a developer could make.
 */
import type { BrokenBuild } from './broken-build.ts'

const STORIES = 'core/scenario.test.ts'
const COMMANDS = 'services/reaper/policy-command.test.ts'

export const BROKEN_POLICIES: readonly BrokenBuild[] = [
  {
    name: 'a policy is about any namespace',
    mistake: 'a CleanupPolicy deletes in the namespaces that its author names',
    changes: [
      { file: 'ports/rule/policy-content.ts', function: 'withinOwn', body: ['return match'] },
      {
        file: 'ports/rule/rule-config.ts',
        function: 'ruleOf',
        body: ['const { within, ...others } = reading', 'return original(name, fields, others)'],
      },
    ],
    by: {
      file: 'ports/rule/policy-content.test.ts',
      test: 'a CleanupPolicy is the rule of a config file, in its own namespace, by its account',
    },
  },
  {
    name: 'a policy deletes by the rights of the reaper',
    mistake: 'who may write policies may have anything deleted',
    changes: [
      {
        file: 'adapters/kubernetes/cluster.ts',
        function: 'impersonating',
        body: ['return request'],
      },
    ],
    by: {
      file: COMMANDS,
      test: 'deletes by the account of a policy that is enforced; one GET of it for several',
    },
  },
  {
    name: 'a policy has the account of any namespace',
    mistake: 'who may write policies in one namespace uses the accounts of another one',
    changes: [
      {
        file: 'ports/rule/policy-content.ts',
        function: 'accountNamespace',
        body: ['return given ?? space'],
      },
    ],
    by: {
      file: 'ports/rule/policy-content.test.ts',
      test: 'a CleanupPolicy is refused: { serviceAccountName: cleaner, serviceAccountNamespace: b, match: { kinds: [ConfigMap], labels: x=y }, after: 1h }',
    },
  },
  {
    name: 'an annotation of a former rule enforces',
    mistake: 'a policy that is edited deletes at once, and no one has seen its plan',
    changes: [
      {
        file: 'core/observe/policy-object.ts',
        function: 'policyOf',
        body: [
          'const found = original(step, { policies }, object)',
          "if (found === null || found === 'former') return found",
          'const isThere = object.annotations.some(({ key }) => key === ENFORCE_ANNOTATION)',
          'return { ...found, enforcedAt: isThere ? Math.max(1, found.enforcedAt) : 0 }',
        ],
      },
      {
        file: 'services/reaper/policy-proof.ts',
        function: 'disagreement',
        body: [
          "const enforced = look.enforced === '' ? '' : digest",
          'return original({ name, digest }, policy, { ...look, enforced })',
        ],
      },
    ],
    by: {
      file: 'core/policy-object.property.test.ts',
      test: 'nothing is deleted by a policy that is not known to say so, and no state is left of one',
    },
  },
  {
    name: 'a policy is not read before it deletes',
    mistake: 'what its author took back is carried out',
    changes: [
      { file: 'services/reaper/policy-proof.ts', function: 'disagreement', body: ["return ''"] },
    ],
    by: {
      file: COMMANDS,
      test: 'makes no call for a policy that is enforced no more, soon after it was read',
    },
  },
  {
    name: 'a namespace has all of a limit',
    mistake: 'a namespace over its half is not held, and uses up what the others may have deleted',
    changes: [{ file: 'core/admit/rule-hold.ts', function: 'overIn', body: ['return because'] }],
    by: { file: STORIES, test: 'story rule over limit in a namespace' },
  },
  {
    name: 'a silent watch counts',
    mistake: 'what was deleted while a watch is silent is still counted among the newest',
    changes: [
      {
        file: 'core/judge/keep.ts',
        function: 'isInSync',
        body: [
          'const known = facts.kind(kind)',
          'return known !== undefined && known.openSync === 0',
        ],
      },
    ],
    by: {
      family: 'rules',
      world:
        'r pod 0 keep:1 by:namespace: + pod/a [created:1]; + pod/b [created:2]; silent pod; - pod-b; enforce; heard pod',
    },
  },
  {
    name: 'a silent watch knows all Nodes',
    mistake: 'a Node that was made while its watch is silent is taken for gone',
    changes: [{ file: 'core/judge/beside.ts', function: 'unsureOfBeside', body: ["return ''"] }],
    by: {
      family: 'rules',
      world:
        'r pod 0 for:40 no-node:spec.nodeName: + pod/a [field:spec.nodeName=n]; wait 60; silent node; + node/n; enforce; heard node',
    },
  },
]
