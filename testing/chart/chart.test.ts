/**
 * The Helm chart, as Helm itself reads it: it is linted, its rights and its lock are those of
 * `kinfold rbac`, its settings are understood by the services, and its pods are as
 * docs/operate/deploy.md asks.
 *
 * Not here: whether an API server takes it (chart.cluster.test.ts).
 */
import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, suite, test } from 'node:test'
import { parse } from 'yaml'
import { loadContexts } from '../../adapters/kubernetes/connection/kubeconfig.ts'
import { upConfig } from '../../cli/config/config.ts'
import { kafkaConfig } from '../../cli/config/kafka-config.ts'
import { createProgram } from '../../cli/program.ts'
import type { Manifest } from '../../cli/setup/role-manifest.ts'
import { checkHttp } from '../../runtime/http/endpoint.ts'
import { CHART } from '../../scripts/chart.ts'
import { missingServers, requireBinary } from '../cluster/binaries.ts'
import { runKinfold } from '../process/kinfold-command.ts'
import { isOfOperator, named, ROOT, render, valueFile, variants } from './variant.ts'

const skip = missingServers('helm') ?? false
const folder = mkdtempSync(join(tmpdir(), 'kinfold-chart-'))
after(() => rmSync(folder, { recursive: true, force: true }))

interface Container {
  readonly name: string
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value?: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
  readonly [key: string]: unknown
}

interface PodSpec {
  readonly containers: readonly [Container]
  readonly volumes: readonly Readonly<Record<string, unknown>>[]
  readonly terminationGracePeriodSeconds: number
  readonly securityContext: unknown
  readonly [key: string]: unknown
}

function workloads(manifests: readonly Manifest[]): readonly Manifest[] {
  return manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
}

function podOf(workload: Manifest): PodSpec {
  return (workload['spec'] as { template: { spec: PodSpec } }).template.spec
}

function configOf(manifests: readonly Manifest[]): Readonly<Record<string, string>> {
  return named(manifests, 'ConfigMap', 'kinfold')['data'] as Readonly<Record<string, string>>
}

const WEBHOOK = 'https://hooks.example.com/services/token'
const IN_POD = /\/etc\/kinfold(?=\/)/g

/**
 * The settings as a file, the way the pods have it; the secrets that it names are below `folder`.
 */
function configFileOf(manifests: readonly Manifest[], variant: string): string {
  const file = join(folder, variant)
  const text = configOf(manifests)['config.yaml'] ?? ''
  for (const [path] of text.matchAll(/\/etc\/kinfold\/\S+/g)) secretAt(path)
  writeFileSync(file, text.replaceAll(IN_POD, folder))
  return file
}

/** Long enough for an archive key and a token, and no certificate is read before it is used. */
function secretAt(path: string): void {
  const file = path.replace(IN_POD, folder)
  mkdirSync(dirname(file), { recursive: true })
  const text = file.endsWith('/url') ? WEBHOOK : 'a secret of thirty-two bytes....'
  writeFileSync(file, text, { mode: 0o600 })
}

const RIGHTS = [
  'ServiceAccount',
  'ClusterRole',
  'ClusterRoleBinding',
  'Role',
  'RoleBinding',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
]

/** Not those for people who write policies. */
function isOfRights({ kind, metadata }: Manifest): boolean {
  if (/^kinfold-cleanup-policies-/.test(String(metadata['name']))) return false
  return RIGHTS.includes(kind) || metadata['name'] === 'kinfold-lock'
}

/** Helm sorts its output, so both are compared as objects. */
function byName(manifests: readonly Manifest[]): Readonly<Record<string, Manifest>> {
  const names = manifests.map((each): [string, Manifest] => {
    const { namespace = '', name } = each.metadata
    return [`${each.kind} ${namespace}/${name}`, each]
  })
  const all = Object.fromEntries(names.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  equal(Object.keys(all).length, manifests.length, 'none is there twice')
  return all
}

suite('the chart', { skip }, () => {
  for (const variant of variants()) {
    test(`is linted with ${variant}`, () => {
      const args = ['lint', '--strict', join(ROOT, CHART), '--values', valueFile(variant)]
      match(execFileSync(requireBinary('helm'), args, { encoding: 'utf8' }), / 0 chart\(s\) failed/)
    })

    test(`has the rights and the lock of kinfold rbac with ${variant}`, async () => {
      const manifests = render(variant)
      const values = parse(readFileSync(valueFile(variant), 'utf8')) as Values
      const isLocal = values.localCluster?.enabled !== false
      const ran = await runKinfold([
        ...['rbac', '--namespace', 'kinfold', '-o', 'json'],
        ...['--config', configFileOf(manifests, variant)],
        ...['--service', values.mode === 'kafka' ? 'all' : 'up'],
        ...flag('--only-namespaces', values.rbac?.onlyNamespaces),
        ...flag('--protect-kinds', values.lock?.protectKinds),
        ...flag('--protect-namespaces', values.lock?.protectNamespaces),
        ...(values.cleanupPolicies?.enabled === true ? ['--cleanup-policies'] : []),
      ])
      equal(ran.stderr, '')
      const printed = (JSON.parse(ran.stdout) as { items: Manifest[] }).items
      // Helm makes the namespace itself.
      const expected = isLocal ? printed.filter(({ kind }) => kind !== 'Namespace') : []
      deepEqual(byName(manifests.filter(isOfRights)), byName(expected))
    })

    test(`has settings that its services understand with ${variant}`, async () => {
      const manifests = render(variant)
      const file = configFileOf(manifests, variant)
      const config = upConfig({ config: file })
      const { kafka } = parse(readFileSync(file, 'utf8')) as { kafka?: object }
      for (const workload of workloads(manifests)) {
        const pod = podOf(workload)
        const [container] = pod.containers
        const flags = await parseFlags(workload)
        if (kafka !== undefined) kafkaConfig(below(flags), kafka, file)
        equal(flags['config'], '/etc/kinfold/config/config.yaml')
        const port = container.ports[0]?.containerPort
        equal(flags['http'], `0.0.0.0:${port}`)
        // Only with a token: it listens beyond loopback.
        throws(() =>
          checkHttp({
            address: `0.0.0.0:${port}`,
            token: undefined,
            authority: undefined,
            advertise: undefined,
            isShared: false,
          }),
        )
        equal(config.httpTokenFile, join(folder, 'http-token/token'))
        for (const path of filesOf(container, readFileSync(file, 'utf8'))) {
          const mount = container.volumeMounts.find(({ mountPath }) =>
            path.startsWith(`${mountPath}/`),
          )
          ok(mount, `${path} is mounted in ${workload.metadata['name']}`)
        }
        for (const { name } of container.volumeMounts) {
          const isClaimed = JSON.stringify(workload['spec']).includes(
            `"metadata":{"name":"${name}"`,
          )
          ok(isClaimed || pod.volumes.some((each) => each['name'] === name), name)
        }
      }
    })

    test(`has pods that may do no more than they need with ${variant}`, () => {
      for (const workload of workloads(render(variant))) {
        const pod = podOf(workload)
        const [container] = pod.containers
        deepEqual(pod.securityContext, {
          runAsNonRoot: true,
          runAsUser: 65532,
          runAsGroup: 65532,
          fsGroup: 65532,
          fsGroupChangePolicy: 'OnRootMismatch',
          seccompProfile: { type: 'RuntimeDefault' },
        })
        deepEqual(container['securityContext'], {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        })
        ok(pod.terminationGracePeriodSeconds > 30, 'docs/operate/deploy.md allows 30 s')
        deepEqual(pathsOf(container), ['/livez', '/livez', '/readyz'])
        for (const volume of pod.volumes) {
          const source = (volume['secret'] ?? volume['projected']) as { defaultMode?: number }
          if (source !== undefined) equal(source.defaultMode, 0o440, 'others may not read a secret')
        }
      }
    })
  }

  test('installs what the values switch on, and nothing of it without', () => {
    const on = render('embedded.yaml').map(({ kind }) => kind)
    const off = render('defaults.yaml').map(({ kind }) => kind)
    for (const kind of ['ServiceMonitor', 'PrometheusRule']) {
      ok(on.includes(kind) && !off.includes(kind), kind)
    }
    ok(off.includes('Secret') && !on.includes('Secret'), 'the token is made only where none exists')
  })

  test('asks the operator for what it has', () => {
    const own = render('embedded.yaml').filter(isOfOperator)
    const spec = (kind: string): Readonly<Record<string, unknown>> =>
      named(own, kind)['spec'] as Readonly<Record<string, unknown>>
    deepEqual(Object.keys(spec('PrometheusRule')), ['groups'])
    deepEqual(Object.keys(spec('ServiceMonitor')).sort(), [
      'endpoints',
      'namespaceSelector',
      'selector',
    ])
    const [endpoint] = spec('ServiceMonitor')['endpoints'] as [object]
    deepEqual(Object.keys(endpoint).sort(), ['authorization', 'interval', 'path', 'port', 'scheme'])
  })

  test('gives Prometheus a token for the metrics alone', () => {
    const monitored = ['--set', 'serviceMonitor.enabled=true']
    for (const [variant, more, secret, key] of [
      ['defaults.yaml', monitored, 'kinfold-http-token', 'metrics-token'],
      ['kafka.yaml', [], 'kinfold-http', 'scrape'],
      ['embedded.yaml', [], 'kinfold-http', 'metrics'],
    ] as const) {
      const manifests = render(variant, ...more)
      const own = named(manifests.filter(isOfOperator), 'ServiceMonitor')['spec']
      const { endpoints } = own as { endpoints: readonly { authorization: unknown }[] }
      deepEqual(endpoints[0]?.authorization, { type: 'Bearer', credentials: { name: secret, key } })
      const { httpMetricsTokenFile } = upConfig({ config: configFileOf(manifests, variant) })
      ok(httpMetricsTokenFile !== undefined)
      const made = manifests.find(({ kind }) => kind === 'Secret')?.['data'] as object | undefined
      if (made !== undefined) deepEqual(Object.keys(made).sort(), ['metrics-token', 'token'])
      for (const workload of workloads(manifests)) {
        const volume = podOf(workload).volumes.find((each) => each['name'] === 'http-token')!
        const { items } = volume['secret'] as { items: readonly object[] }
        deepEqual(items.slice(1), [{ key, path: 'metrics-token' }])
      }
    }
  })

  test('takes address and secret of the webhook from a Secret, and the rest from the settings', () => {
    const notifyOf = (variant: string): ReturnType<typeof upConfig>['notify'] =>
      upConfig({ config: configFileOf(render(variant), variant) }).notify
    const embedded = notifyOf('embedded.yaml')
    equal(embedded?.webhook?.url, WEBHOOK)
    ok(embedded?.webhook?.secret !== undefined && embedded.hasEvents)
    deepEqual(embedded?.on, ['approval', 'breaker'])
    const kafka = notifyOf('kafka.yaml')
    equal(kafka?.webhook?.url, 'https://example.com/hook')
    ok(kafka?.webhook?.secret !== undefined)
    equal(notifyOf('defaults.yaml'), undefined)
    for (const [values, message] of [
      ['notify.existingSecret=a', /needs an address/],
      ['notify.existingSecret=a,notify.secretKey=', /is used by no key/],
      ['notify.existingSecret=a,notify.urlKey=b,config.notify.url=c', /is given twice/],
    ] as const) {
      throws(() => render('defaults.yaml', '--set', values), message)
    }
  })

  test('serves TLS by a Secret, with probes, clients and Prometheus that know of it', () => {
    const manifests = render('kafka.yaml')
    const { httpTls, httpTlsCaFile } = upConfig({ config: configFileOf(manifests, 'tls.yaml') })
    match(httpTls?.certFile ?? '', /\/http-tls\/tls\.crt$/)
    match(httpTlsCaFile ?? '', /\/http-tls\/ca\.crt$/)
    for (const workload of workloads(manifests)) {
      const { containers, volumes } = podOf(workload)
      const [{ env, livenessProbe, volumeMounts }] = containers
      const { httpGet } = livenessProbe as { httpGet: { scheme: string } }
      equal(httpGet.scheme, 'HTTPS')
      match(env.find(({ name }) => name === 'KINFOLD_SERVER')?.value ?? '', /^https:/)
      ok(volumeMounts.some(({ name }) => name === 'http-tls'))
      ok(volumes.some(({ name }) => name === 'http-tls'))
    }
    const own = named(manifests.filter(isOfOperator), 'ServiceMonitor')['spec']
    const { endpoints } = own as { endpoints: readonly { scheme: string; tlsConfig: unknown }[] }
    deepEqual(endpoints[0]?.scheme, 'https')
    deepEqual(endpoints[0]?.tlsConfig, { serverName: 'kinfold.kinfold.svc' })
  })

  test('gives the tokens of clusters to whoever takes their audit events, and to nobody else', () => {
    for (const [variant, names] of [
      ['kafka.yaml', ['kinfold-graph']],
      ['embedded.yaml', ['kinfold']],
      ['defaults.yaml', []],
    ] as const) {
      const have = workloads(render(variant)).filter((workload) => {
        const { containers, volumes } = podOf(workload)
        const isThere = volumes.some(({ name }) => name === 'audit-tokens')
        // That the file is mounted is asked of each flag above.
        const flag = containers[0].args.includes('--audit-token-file=/etc/kinfold/audit/tokens')
        equal(flag, isThere)
        return isThere
      })
      deepEqual(
        have.map(({ metadata }) => metadata['name']),
        names,
      )
    }
  })

  test('runs over Kafka twice each, spread, and with a disruption budget', async () => {
    const manifests = render('kafka.yaml')
    for (const service of ['watcher', 'graph', 'reaper']) {
      const budget = named(manifests, 'PodDisruptionBudget', `kinfold-${service}`)
      const workload = workloads(manifests).find(
        ({ metadata }) => metadata['name'] === `kinfold-${service}`,
      )!
      const { selector, replicas } = workload['spec'] as { selector: object; replicas: number }
      deepEqual((budget['spec'] as { selector: object }).selector, selector)
      ok(replicas > 1)
      equal((podOf(workload)['topologySpreadConstraints'] as unknown[]).length, 2)
      ok((await parseFlags(workload))['saslPasswordFile'])
    }
  })

  test('gives each graph process an address by which the others reach it', async () => {
    const manifests = render('kafka.yaml')
    const graph = named(manifests, 'StatefulSet', 'kinfold-graph')
    const { serviceName } = graph['spec'] as { serviceName: string }
    equal((await parseFlags(graph))['httpAdvertise'], `$(POD_NAME).${serviceName}.kinfold.svc:7070`)
    equal(
      (named(manifests, 'Service', serviceName)['spec'] as { clusterIP: string }).clusterIP,
      'None',
    )
  })

  test('speaks to its own cluster as its account, whose token is read again', async () => {
    const token = join(folder, 'token')
    const kubeconfig = join(folder, 'kubeconfig')
    const text = configOf(render('two-clusters.yaml'))['kubeconfig'] ?? ''
    const ca = join(folder, 'ca.crt')
    writeFileSync(ca, 'no authority')
    writeFileSync(
      kubeconfig,
      text
        .replaceAll('/var/run/secrets/kubernetes.io/serviceaccount/token', token)
        .replaceAll('/var/run/secrets/kubernetes.io/serviceaccount/ca.crt', ca),
    )
    writeFileSync(token, 'first')
    const [home] = loadContexts({ kubeconfig, contexts: ['home'] })
    const shown = async (): Promise<string | undefined> =>
      (await home?.credentials(true))?.headers['authorization']
    equal(home?.server, 'https://kubernetes.default.svc')
    equal(await shown(), 'Bearer first')
    writeFileSync(token, 'second')
    equal(await shown(), 'Bearer second')
  })

  test('refuses values that it does not know, and settings that it decides itself', () => {
    const refuses = (value: string, message: RegExp): void => {
      throws(
        () => render('defaults.yaml', '--set', value),
        (error: { stderr?: string }) => {
          match(error.stderr ?? '', message)
          return true
        },
      )
    }
    refuses('replicas=2', /additional properties 'replicas' not allowed/)
    refuses('config.http=0.0.0.0:1', /additional properties 'http' not allowed/)
    refuses('config.mode=delete', /value must be one of/)
    refuses('telemetryEnv[0].name=NODE_OPTIONS', /does not match pattern/)
    refuses('terminationGracePeriodSeconds=5', /minimum/)
    refuses('mode=kafka', /needs kafka\.brokers/)
    refuses('localCluster.enabled=false', /no cluster to collect/)
    refuses('clusters[0].context=local,clusters[0].existingSecret=x', /the same context/)
  })

  test('gives each service the variables of OpenTelemetry', () => {
    const pods = render('kafka.yaml').filter(({ kind }) => /^(Deployment|StatefulSet)$/.test(kind))
    equal(pods.length, 3)
    for (const pod of pods) {
      const text = JSON.stringify(pod)
      match(text, /"name":"OTEL_EXPORTER_OTLP_ENDPOINT","value":"http:\/\/collector:4318"/)
      match(text, /"OTEL_EXPORTER_OTLP_HEADERS","valueFrom":\{"secretKeyRef":/)
    }
    ok(!JSON.stringify(render('defaults.yaml')).includes('OTEL_'))
  })

  test('leaves the rights to delete out for a reader', () => {
    const text = JSON.stringify(
      render('defaults.yaml', '--set', 'rbac.change=false,lock.create=false').filter(isOfRights),
    )
    ok(!text.includes('"delete"') && !text.includes('"patch"') && text.includes('"watch"'))
  })

  test('asks each service in helm test', () => {
    const pod = named(render('kafka.yaml'), 'Pod')
    equal((pod.metadata['annotations'] as Record<string, string>)['helm.sh/hook'], 'test')
    const { containers } = pod['spec'] as { containers: { args: string[] }[] }
    deepEqual(
      containers.flatMap(({ args }) => args),
      [
        'https://kinfold-watcher.kinfold.svc:7071',
        'https://kinfold-graph.kinfold.svc:7070',
        'https://kinfold-reaper.kinfold.svc:7072',
      ],
    )
  })
})

interface Values {
  readonly mode?: string
  readonly localCluster?: { readonly enabled?: boolean }
  readonly rbac?: { readonly onlyNamespaces?: readonly string[] }
  readonly cleanupPolicies?: { readonly enabled?: boolean }
  readonly lock?: {
    readonly protectKinds?: readonly string[]
    readonly protectNamespaces?: readonly string[]
  }
}

function flag(name: string, list: readonly string[] = []): readonly string[] {
  return list.length === 0 ? [] : [name, list.join(',')]
}

/** As the command itself reads its arguments: an unknown flag is an error. */
async function parseFlags(workload: Manifest): Promise<Readonly<Record<string, string>>> {
  const [name, ...args] = podOf(workload).containers[0].args
  const command = (await createProgram()).commands.find((each) => each.name() === name)
  ok(command, `kinfold has the command ${name}`)
  const { operands, unknown } = command.parseOptions([...args])
  deepEqual({ operands, unknown }, { operands: [], unknown: [] })
  return command.opts()
}

/** With the files of a pod below `folder`. */
function below(flags: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const all = Object.entries(flags).map(([name, value]) => {
    if (typeof value !== 'string' || !IN_POD.test(value)) return [name, value]
    secretAt(value)
    return [name, value.replace(IN_POD, folder)]
  })
  return Object.fromEntries(all)
}

/** The files that a container names and needs; `settings` have them below `folder`. */
function filesOf(container: Container, settings: string): readonly string[] {
  const flags = container.args.map((arg) => arg.slice(arg.indexOf('=') + 1))
  const variables = container.env.flatMap(({ value = '' }) => value.split(':'))
  const own = settings.replaceAll(folder, '/etc/kinfold').split(/\s+/)
  return [...flags, ...variables, ...own].filter((each) => each.startsWith('/etc/kinfold/'))
}

function pathsOf(container: Container): readonly string[] {
  return ['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) => {
    const { httpGet } = container[probe] as { httpGet: { path: string; port: string } }
    equal(httpGet.port, container.ports[0]?.name)
    return httpGet.path
  })
}
