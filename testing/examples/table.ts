/**
 * The needs of the documents' commands in addition to a playground: which of them cannot run there,
 * and why; the values for names that a reader fills in; the preconditions of a document's first
 * command.
 *
 * What must stay true: a command without a row is run. A row that no command needs is an error
 * (examples.test.ts), so the table is never out of date. Rows match a command's text, wherever it
 * is printed.
 */

/**
 * Commands that are not run, by their text, and their requirements. The first row that matches
 * counts.
 */
export const NOT_RUN: readonly (readonly [command: RegExp, why: string])[] = [
  [/^npm (ci|start)/, 'installs this checkout anew; the playground is started by the run itself'],
  [
    /^docker |http-token|127\.0\.0\.1:8001/,
    'Docker; scripts/compose.test.ts and cli/e2e/compose.kafka.test.ts run its commands',
  ],
  [
    /--brokers|^kafka-acls |^kcat /,
    'Kafka; the tests of the tier broker run these services, and the ACLs as printed',
  ],
  [
    /^npm run |^bash \.ci|^node scripts|^node testing/,
    'is a test itself, or takes servers and minutes',
  ],
  [
    /^(aws|gcloud|az) |^while gcloud|PT1H|^kinfold audit follow /,
    'a cluster of a cloud; services/graph/actors/audit-decoder.test.ts reads records as they are documented, and cli/offline/audit-follow.kafka.test.ts runs the follower as printed',
  ],
  [
    /\$BENCH|^perf |^awk |^export PATH|^(FLAGS|BENCH)=/,
    'a profile of a benchmark: minutes, and perf',
  ],
  [
    /^OTEL_/,
    'a collector of traces; cli/process/telemetry.test.ts receives them, from a playground',
  ],
  [/^kinfold upgrade/, 'a data directory of an older version; cli/offline/upgrade.test.ts'],
  [
    /^helm |^kubectl -n kinfold |^kubectl apply -k/,
    'a cluster with nodes; testing/chart renders the chart and applies it to an API server',
  ],
  [
    /^cd docs\/integrate\/examples|^python3 -m venv|^go build|^mvn /,
    'Kafka, Python, Go and Java; testing/consumers installs and runs the examples by these very commands',
  ],
  [
    /^npm (pack|install)/,
    'an installation elsewhere; testing/package/package.test.ts packs, installs and runs it',
  ],
  [
    /^kubectl krew |^KINFOLD_SERVER=\S+ kubectl kinfold |kinfold-client|^brew /,
    'files of a release, installed; testing/package/client.test.ts installs and runs the client, and nothing runs Homebrew',
  ],
  [
    /^kubectl kinfold |kinfold completion/,
    'a plugin on the PATH, and a shell that completes; cli/complete.test.ts and cli/e2e/kubectl-plugin.cluster.test.ts',
  ],
]

/**
 * Names that a reader fills in, and their values in a run of the examples. `DIGEST` is requested
 * when it is needed.
 */
export interface Filled {
  readonly kubeconfig: string
  /** Host and port of the endpoint. */
  readonly http: string
  readonly data: string
  /** A directory of its own, for the files of a command. */
  readonly directory: string
  digest(): Promise<string>
  /** Id of a command about an object of shop in north. */
  command(): Promise<string>
}

/** In place of any. */
const COMMAND = '0-4711-0'

export async function filledIn(command: string, filled: Filled): Promise<string> {
  const text = command
    .replaceAll(/\bFILE\b/g, filled.kubeconfig)
    .replaceAll(/--context A\b/g, '--context north')
    .replaceAll(/--context B\b/g, '--context south')
    .replaceAll(/\bKINDS\b/g, 'pods,configmaps,deployments.apps,replicasets.apps')
    .replaceAll('127.0.0.1:7070', filled.http)
    // In addition to the playground, which has its own data and endpoint.
    .replaceAll('kinfold up ', `kinfold up --data ${filled.directory}/up --http 127.0.0.1:0 `)
    .replaceAll('/var/lib/kinfold', filled.data)
    .replaceAll(/(?<=kinfold backup )\/backup/g, filled.directory)
  if (text.includes(COMMAND)) return text.replaceAll(COMMAND, await filled.command())
  return text.includes('DIGEST') ? text.replaceAll('DIGEST', await filled.digest()) : text
}

/**
 * A command that runs until the user ends it: it is ended, by SIGTERM, a while after its first
 * output.
 */
export const ENDLESS: RegExp =
  /follow=true|lineage tail|kinfold up |cascade .*-w\b|get .*-w\b|history .*-w\b/

/**
 * Run again, until its output is as shown: the workload lives, and a collector takes its time.
 * Others are run once.
 */
export const REPEATABLE: RegExp =
  /^(npx )?kinfold (tree|why|plan|cascade|held|shadow|restore(?!.*--yes))|^kubectl .*\b(get|explain)\b/

export interface Setting {
  /** Of `kinfold playground`. */
  readonly flags?: readonly string[]
  /** Run in turn, each until it succeeds. */
  readonly before?: readonly string[]
  /** Before such a command they are run once more. */
  readonly again?: RegExp
}

const WIDGETS = `cat > widgets.yaml <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: widgets, kind: Widget }
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
YAML
kubectl apply -f widgets.yaml`
const OWNED = `kubectl delete cm of-widget --ignore-not-found && kubectl create cm of-widget &&
echo '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}' | kubectl apply -f - &&
uid=$(kubectl get widget w -o jsonpath={.metadata.uid}) &&
kubectl patch cm of-widget --type merge -p '{"metadata":{"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Widget","name":"w","uid":"'$uid'"}]}}'`

export const SETTINGS: Readonly<Record<string, Setting>> = {
  'README.md': { before: ['kinfold why cm/web-settings -n shop --cluster south | grep keep'] },
  'docs/ask/replay.md': {
    before: [
      `printf 'apiVersion: kinfold/v1alpha1\\nkind: Config\\npreset: guarded\\n' > policy.yaml`,
    ],
  },
  'docs/ask/who.md': {
    before: [
      `echo '{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a","stage":"ResponseComplete","verb":"delete","user":{"username":"alice"},"userAgent":"kubectl/v1.33.0","objectRef":{"resource":"configmaps","namespace":"shop","name":"x","apiVersion":"v1"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-11-27T12:03:04.000000Z","stageTimestamp":"2026-11-27T12:03:04.100000Z"}' > audit.log`,
      'kinfold why deploy/web -n shop --cluster north | grep Exists',
    ],
  },
  'docs/ask/evidence.md': {
    // Of the first rollout, who asked for a deletion: before it there are no actors.
    before: [
      'kinfold why deploy/web -n shop --cluster north | grep Exists',
      'kinfold deletions -n shop --cluster north | grep "by .*deployment-controller"',
    ],
  },
  'docs/operate/archive.md': {
    // Not of the Deployment, which its example creates again.
    flags: ['--archive', '--archive-kinds', 'statefulsets.apps'],
    before: [
      'openssl rand -hex 32 > key',
      "kubectl -n shop get deployment web -o yaml | sed '/uid:\\|resourceVersion:\\|creationTimestamp:/d' > web.yaml",
      'kinfold why cm/web-theme -n shop --cluster north | grep keep',
    ],
  },
  'docs/ask/history.md': {
    before: ['kinfold why deploy/web -n shop --cluster north | grep Exists'],
  },
  'docs/ask/past.md': {
    before: ['kinfold history -n shop --cluster north --change command | grep command'],
  },
  // A bulk deletion to approve: owners that were deleted with their kind.
  'docs/operate/guarded.md': {
    flags: ['--preset', 'guarded'],
    before: [
      WIDGETS,
      OWNED,
      // By its uid: of a name whose object was deleted, the tree before that is shown.
      'kinfold tree uid:$(kubectl get widget w -o jsonpath={.metadata.uid}) | grep of-widget',
      'kubectl delete crd widgets.example.com --wait=false',
      'kinfold plan held --cluster north | grep of-widget',
    ],
    // An approved set is no longer held.
    again: /^kinfold reject/,
  },
}
