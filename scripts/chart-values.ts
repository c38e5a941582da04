/**
 * The values of the Helm chart, each with its type and its sentence: values.schema.json and the
 * table of docs/operate/helm.md are made of these rows.
 *
 * What must stay true: a value without a row is refused by Helm. Of the settings file the rows have
 * every key that the chart does not set itself.
 *
 * Not here: defaults (deploy/helm/kinfold/values.yaml).
 */
import { CONFIG_KEYS } from '../cli/config/config.ts'
import { MOST_RULES, RULE_KEYS } from '../ports/rule/rule-config.ts'

type Schema = Readonly<Record<string, unknown>>

export interface ValueRow {
  /** As Helm's --set has it. */
  readonly path: string
  readonly schema: Schema
  readonly text: string
}

/** The settings that other values decide. */
const SET_BY_CHART: ReadonlySet<string> = new Set([
  ...['apiVersion', 'kind', 'kubeconfig', 'contexts', 'kinds', 'data', 'kafka', 'archive'],
  ...['http', 'httpTokenFile', 'httpMetricsTokenFile', 'httpAdvertise', 'auditTokenFile'],
  ...['httpTlsCertFile', 'httpTlsKeyFile', 'httpTlsCaFile'],
])

const TEXT: Schema = { type: 'string' }
const FLAG: Schema = { type: 'boolean' }
const TEXTS: Schema = { type: 'array', items: { type: 'string', minLength: 1 } }
const LABELS: Schema = { type: 'object', additionalProperties: { type: 'string' } }
const REPLICAS: Schema = { type: 'integer', minimum: 1 }
/** Kubernetes' own types, which the API server checks. */
const FREE: Schema = { type: 'object' }
const FREE_LIST: Schema = { type: 'array', items: { type: 'object' } }
const KINDS: Schema = {
  ...{ type: 'array', minItems: 1, uniqueItems: true },
  items: { type: 'string', pattern: '^[a-z][a-z0-9-]*(\\.[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$' },
}
/** What the values of its keys may be, a start says. */
const RULE: Schema = {
  ...{ type: 'object', additionalProperties: false },
  properties: Object.fromEntries(RULE_KEYS.map((key) => [key, {}])),
}
/** A folder and a context have this name. */
const CONTEXT: Schema = {
  type: 'string',
  pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$',
}

export const VALUES: readonly ValueRow[] = [
  row(
    'mode',
    { enum: ['embedded', 'kafka'] },
    '`embedded`: one StatefulSet with `kinfold up`. `kafka`: watchers, graph and reapers apart',
  ),
  row('image.repository', TEXT, 'your registry and name: no image is published yet'),
  row('image.tag', TEXT, "default: the chart's appVersion"),
  row(
    'image.digest',
    { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
    '`sha256:…`; instead of a tag',
  ),
  row(
    'image.pullPolicy',
    { enum: ['Always', 'IfNotPresent', 'Never'] },
    'when nodes pull the image again',
  ),
  row('imagePullSecrets', FREE_LIST, 'Secrets of the registry, as `[{name: …}]`'),
  row(
    'kinds',
    KINDS,
    'to watch and collect, and to give rights on; as `kubectl api-resources -o name` has them',
  ),
  row('localCluster.enabled', FLAG, 'whether the cluster of the installation is collected'),
  row('localCluster.name', CONTEXT, 'its name in answers and metrics (`--cluster`)'),
  row(
    'clusters',
    {
      type: 'array',
      items: {
        ...{ type: 'object', additionalProperties: false, required: ['context', 'existingSecret'] },
        properties: { context: CONTEXT, existingSecret: { ...TEXT, minLength: 1 }, key: TEXT },
      },
    },
    'other clusters: `{context, existingSecret, key}`, a kubeconfig in a Secret each (key `kubeconfig`)',
  ),
  row(
    'config',
    {
      ...{ type: 'object', additionalProperties: false },
      properties: Object.fromEntries(
        CONFIG_KEYS.filter((key) => !SET_BY_CHART.has(key)).map((key) => [key, configSchema(key)]),
      ),
    },
    'other settings, as [config.md](config.md) has them. `mode`: `observe` records, `dry-run` tries, `enforce` deletes. `preset`: `guarded` holds deletions first, `parity` deletes at once',
  ),
  row(
    'rbac.create',
    FLAG,
    'accounts and rights in the cluster of the installation, as `kinfold rbac` prints them',
  ),
  row('rbac.change', FLAG, 'false: no right to delete or patch, for mode `observe`'),
  row('rbac.onlyNamespaces', TEXTS, '`--only-namespaces` of `kinfold rbac`'),
  row(
    'rbac.clusterScopedKinds',
    TEXTS,
    'of `kinds` those of yours that are in no namespace; needed with `onlyNamespaces` only',
  ),
  row(
    'cleanupPolicies.enabled',
    FLAG,
    'CleanupPolicy and ClusterCleanupPolicy of the cluster ([cleanup-policies.md](cleanup-policies.md)): rights for them, the right to impersonate service accounts among these (everywhere, or in `rbac.onlyNamespaces`)',
  ),
  row(
    'cleanupPolicies.definitions',
    FLAG,
    'false: their CustomResourceDefinitions, and roles for people, are installed otherwise (`deploy/crds`)',
  ),
  row('lock.create', FLAG, 'the lock, as `kinfold rbac` prints it'),
  row('lock.protectKinds', TEXTS, '`--protect-kinds`'),
  row('lock.protectNamespaces', TEXTS, '`--protect-namespaces`'),
  row(
    'http.existingSecret',
    TEXT,
    'tokens of the endpoint; default: a Secret with a random one is made',
  ),
  row('http.tokenKey', { ...TEXT, minLength: 1 }, 'its key'),
  row(
    'http.metricsTokenKey',
    TEXT,
    'key of `http.existingSecret` with tokens that may read the metrics alone; default: none, and `metrics-token` in a Secret that the chart makes',
  ),
  row(
    'http.tls.existingSecret',
    TEXT,
    'TLS on all endpoints, by `tls.crt` and `tls.key` as cert-manager writes them; for names below `.NAMESPACE.svc`',
  ),
  row('http.tls.caKey', TEXT, 'key with an authority of your own in that Secret, such as `ca.crt`'),
  row(
    'audit.existingSecret',
    TEXT,
    'tokens of clusters whose API servers send their audit events, `CLUSTER TOKEN` a line ([who.md](../ask/who.md))',
  ),
  row('audit.key', { ...TEXT, minLength: 1 }, 'its key'),
  row(
    'archive.enabled',
    FLAG,
    'put objects away before they are deleted ([archive.md](archive.md))',
  ),
  row('archive.kinds', TEXTS, 'of these also what others delete, such as `deployments.apps`'),
  row('archive.secrets', FLAG, 'Secrets, too; needs a key'),
  row('archive.keep', TEXT, 'for how long, such as `30d`'),
  row('archive.existingSecret', TEXT, 'the key to encrypt with'),
  row('archive.key', { ...TEXT, minLength: 1 }, 'its key in the Secret'),
  row(
    'notify.existingSecret',
    TEXT,
    'secrets of `config.notify`, which has the rest ([notify.md](notify.md))',
  ),
  row('notify.secretKey', TEXT, 'its key with what signs (`secretFile`); empty: nothing is signed'),
  row(
    'notify.urlKey',
    TEXT,
    'its key with the address (`urlFile`), in place of `config.notify.url`',
  ),
  row('kafka.brokers', TEXTS, '`HOST:PORT`'),
  row('kafka.application', TEXT, 'prefix of topics, groups and transactions'),
  row('kafka.tls', FLAG, 'TLS to the brokers'),
  row('kafka.insecure', FLAG, 'neither TLS nor login'),
  row('kafka.createTopics', FLAG, 'whether the graph creates topics'),
  row('kafka.replicas', REPLICAS, 'of new topics'),
  ...secretRows('kafka.caSecret', ['key'], 'the authority of the brokers'),
  row(
    'kafka.sasl',
    { enum: ['', 'plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'] },
    'how to log in: `plain`, `scram-sha-256`, `scram-sha-512` or `oauthbearer`; empty: by certificate, or not at all',
  ),
  row('kafka.schemaRegistry', TEXT, 'URL of a schema registry; empty: none'),
  row(
    'kafka.cloudEvents',
    FLAG,
    'headers of CloudEvents on `lineage` and `history` ([consumers.md](../integrate/consumers.md))',
  ),
  ...workloadRows('embedded'),
  ...workloadRows('watcher'),
  ...workloadRows('graph'),
  row('graph.standbys', { type: 'integer', minimum: 0 }, 'processes that follow each partition'),
  ...workloadRows('reaper'),
  row(
    'terminationGracePeriodSeconds',
    { type: 'integer', minimum: 30 },
    'at least the 30 s that an end in good order may take',
  ),
  row('nodeSelector', LABELS, 'of all pods, like the next ones'),
  row('tolerations', FREE_LIST, 'of all pods'),
  row('affinity', FREE, 'of all pods'),
  row('priorityClassName', TEXT, 'of all pods'),
  row('podAnnotations', LABELS, 'more of all pods'),
  row('podLabels', LABELS, 'more of all pods'),
  row(
    'telemetryEnv',
    {
      type: 'array',
      items: {
        ...{ type: 'object', additionalProperties: false, required: ['name'] },
        properties: {
          name: { type: 'string', pattern: '^OTEL_[A-Z0-9_]+$' },
          value: TEXT,
          valueFrom: FREE,
        },
      },
    },
    'variables of OpenTelemetry ([telemetry.md](telemetry.md)), as `env` of a container has them',
  ),
  row(
    'networkPolicy.enabled',
    FLAG,
    "only the release's own pods, and `from`, reach the endpoints",
  ),
  row('networkPolicy.from', FREE_LIST, 'peers beside: Prometheus, people'),
  row('networkPolicy.egress', FREE_LIST, 'rules; empty: egress is not limited'),
  row('serviceMonitor.enabled', FLAG, 'needs the CRDs of the Prometheus operator'),
  row('serviceMonitor.interval', TEXT, 'between two scrapes'),
  row('serviceMonitor.labels', LABELS, 'by which your Prometheus selects it'),
  row(
    'serviceMonitor.tlsConfig',
    FREE,
    'with `http.tls`: the authority, and a `serverName` of the certificate',
  ),
  row('prometheusRule.enabled', FLAG, 'the [alerts](alerts.md)'),
  row('prometheusRule.labels', LABELS, 'by which your Prometheus selects rules'),
  row('dashboard.enabled', FLAG, 'a ConfigMap with the Grafana dashboard'),
  row('dashboard.labels', LABELS, "by which Grafana's sidecar finds it"),
]

function row(path: string, schema: Schema, text: string): ValueRow {
  return { path, schema, text }
}

function configSchema(key: string): Schema {
  if (key === 'mode') return { enum: ['observe', 'dry-run', 'enforce'] }
  if (key === 'preset') return { enum: ['guarded', 'parity'] }
  if (key === 'rules') return { type: 'array', maxItems: MOST_RULES, items: RULE }
  return {}
}

function secretRows(path: string, keys: readonly string[], text: string): readonly ValueRow[] {
  return [
    row(`${path}.name`, TEXT, `Secret: ${text}`),
    ...keys.map((key) =>
      row(`${path}.${key}`, { ...TEXT, minLength: 1 }, 'its key in that Secret'),
    ),
  ]
}

function workloadRows(name: 'embedded' | 'watcher' | 'graph' | 'reaper'): readonly ValueRow[] {
  const keepsData = name === 'embedded' || name === 'graph'
  return [
    ...(name === 'embedded'
      ? []
      : [
          row(`${name}.replicas`, REPLICAS, 'more than one: a disruption budget, too'),
          row(`${name}.kafka.username`, TEXT, 'its user, for SCRAM and PLAIN'),
          ...secretRows(`${name}.kafka.password`, ['key'], 'its password'),
          ...secretRows(`${name}.kafka.token`, ['key'], 'its token, for OAUTHBEARER'),
          ...secretRows(`${name}.kafka.certificate`, ['certKey', 'keyKey'], 'its certificate'),
        ]),
    row(`${name}.resources`, FREE, 'a start: measure yours'),
    ...(keepsData
      ? [
          row(
            `${name}.persistence.enabled`,
            FLAG,
            name === 'embedded'
              ? 'without it the log ends with the pod'
              : 'without it stores are built again from Kafka',
          ),
          row(`${name}.persistence.storageClass`, TEXT, 'empty: the default of the cluster'),
          row(`${name}.persistence.size`, TEXT, '[config.md](config.md) has what the log takes'),
        ]
      : []),
  ]
}
