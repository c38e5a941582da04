/**
 * Each service does its work as an account of its own, by the rights that docs/operate/kafka.md
 * lists and no others; one that is missing is reported by its name.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { openKafkaLog } from '../../adapters/kafka/log.ts'
import type { KafkaSettings } from '../../adapters/kafka/settings.ts'
import { systemClock } from '../../runtime/clock.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { allow, type Operation, type Permission } from '../../testing/kafka/acl.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { documentedAcls } from '../../testing/kafka/documented-acls.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import {
  KinfoldServices,
  SERVICES,
  type ServiceName,
} from '../../testing/process/kinfold-services.ts'
import {
  CONFIG_MAP,
  DEPLOYMENT,
  make,
  makeAll,
  missingOf,
  remove,
} from '../../testing/process/objects.ts'

const DEPENDENTS = 20

interface Lack {
  readonly service: ServiceName
  readonly user: string
  readonly what: string
  readonly isLacking: (permission: Permission) => boolean
  /** Only this; unless given, all that it may do there. */
  readonly operation?: Operation
  readonly message: (application: string) => string
}

/** One right less each. */
const LACKS: readonly Lack[] = [
  {
    service: 'watcher',
    user: 'mute-watcher',
    what: 'Write on events',
    isLacking: ({ name }) => name?.endsWith('.events') === true,
    message: (application) => `writing to ${application}.events`,
  },
  {
    service: 'graph',
    user: 'blind-graph',
    what: 'Read on events',
    isLacking: ({ name }) => name?.endsWith('.events') === true,
    operation: 'READ',
    message: (application) => ` of ${application}.events)`,
  },
  {
    service: 'graph',
    user: 'lone-graph',
    what: 'its group',
    isLacking: ({ on }) => on === 'GROUP',
    message: (application) => `the group ${application}.graph`,
  },
  {
    service: 'graph',
    user: 'fenceless-graph',
    what: 'its transactional ids',
    isLacking: ({ on }) => on === 'TRANSACTIONAL_ID',
    message: (application) => `the transactional id ${application}-`,
  },
  {
    service: 'graph',
    user: 'silent-graph',
    what: 'Write on its changelog',
    isLacking: ({ name }) => name?.endsWith('.changelog') === true,
    operation: 'WRITE',
    message: (application) => `writing to ${application}.changelog/`,
  },
  {
    service: 'reaper',
    user: 'lone-reaper',
    what: 'its group',
    isLacking: ({ on }) => on === 'GROUP',
    message: (application) => `the group ${application}.reaper`,
  },
  {
    service: 'reaper',
    user: 'strange-reaper',
    what: 'Describe on all topics',
    isLacking: ({ name }) => name?.endsWith('*') === true,
    message: (application) => `looking at the topic ${application}.`,
  },
]

const RESTORING = ['restorer', 'blind-restorer']

/** What docs/operate/kafka.md says of who restores. */
function restoring(application: string): Permission[] {
  const topic = (user: string, name: string, ...operations: Operation[]): Permission => {
    return { user, on: 'TOPIC', name: `${application}.${name}`, operations }
  }
  return [
    ...RESTORING.flatMap((user) => [
      topic(user, '*', 'DESCRIBE', 'DESCRIBE_CONFIGS'),
      topic(user, 'positions', 'READ'),
      topic(user, 'archive', 'READ'),
    ]),
    topic('restorer', 'events', 'READ'),
    topic('restorer', 'watermarks', 'READ'),
  ]
}

const skip = missingKafka({ own: true }) ?? missingServers('etcd', 'kube-apiserver') ?? false

suite('rights on Kafka', { skip }, () => {
  let plane: ControlPlane
  let kafka: Kafka
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-rights-'))

  before(async () => {
    const users = ['admin', ...SERVICES, ...RESTORING, ...LACKS.map(({ user }) => user)]
    const security = { tls: true, acls: true, users, logins: ['scram-sha-512'] } as const
    ;[plane, kafka] = await Promise.all([startControlPlane(), startKafka({ security })])
    for (const user of users) {
      writeFileSync(join(folder, user), kafka.security.passwordOf(user), { mode: 0o600 })
    }
    const documented = documentedAcls(kafka.application)
    const lesser = LACKS.flatMap(({ service, user, isLacking, operation }) =>
      documented
        .filter((each) => each.user === service)
        .map((each) => {
          const left = each.operations.filter((one) => operation && one !== operation)
          return { ...each, user, operations: isLacking(each) ? left : each.operations }
        }),
    )
    await allow(kafka, ...documented, ...lesser, ...restoring(kafka.application))
    const flags = [...where(), ...login('admin'), '--partitions', '2']
    const { code, stderr } = await runKinfold(['topics', 'apply', ...flags])
    equal(code, 0, stderr)
  })
  after(async () => {
    await Promise.all([plane?.[Symbol.asyncDispose](), kafka?.[Symbol.asyncDispose]()])
    rmSync(folder, { recursive: true, force: true })
  })

  test('are enough for whoever makes the topics, and for each service', async () => {
    const plan = await runKinfold(['topics', 'plan', ...where(), ...login('admin')])
    equal(plan.code, 0, plan.stdout)

    await using services = new KinfoldServices({
      kubeconfig: plane.kubeconfig,
      brokers: kafka.bootstrap,
      application: kafka.application,
      folder,
      partitions: 2,
      each: 1,
      flags: (service) => [
        ...login(service),
        '--no-create-topics',
        ...(service === 'reaper' ? ['--archive'] : []),
        ...(service === 'watcher' ? ['--archive', '--archive-kinds', 'deployments.apps'] : []),
      ],
    })
    await services.start()
    await services.ready()
    const owner = await make(plane, { kind: CONFIG_MAP, name: 'owner' })
    const dependents = await makeAll(
      plane,
      Array.from({ length: DEPENDENTS }, (_, i) => {
        return { kind: CONFIG_MAP, name: `dependent-${i}`, owners: [owner] }
      }),
    )
    const staying = await make(plane, { kind: CONFIG_MAP, name: 'staying' })
    await remove(plane, await make(plane, { kind: DEPLOYMENT, name: 'gone' }))
    await remove(plane, owner)
    await eventually('the dependents go', async () => {
      return (await missingOf(plane, dependents)).length === DEPENDENTS
    })
    deepEqual(await missingOf(plane, [staying]), [])
    const asked = ['--kubeconfig', plane.kubeconfig, ...where(), ...login('restorer')]
    await eventually('what a person deleted is in the archive', async () => {
      const { stdout, stderr } = await runKinfold(['restore', 'deploy/gone', ...asked])
      return stdout.includes('1 to create, 0 there already, 0 refused') || stdout + stderr
    })
    for (const each of services.all) await each.assertRunning()
  })

  test('are enough for whoever restores; without Read on events the plan says what it does not know', async () => {
    const asked = ['--lost-owners', 'drop', '--kubeconfig', plane.kubeconfig, ...where()]
    for (const user of RESTORING) {
      const root = user === 'restorer' ? 'cm/dependent-0' : 'configmap/dependent-0'
      const { code, stdout, stderr } = await runKinfold(['restore', root, ...asked, ...login(user)])
      equal(code, 0, stderr)
      match(stdout, /1 to create, 0 there already, 0 refused/)
      if (user === 'restorer') equal(stderr, '')
      else
        match(
          stderr,
          /^warning: this may be incomplete: what became of the deletes is not known: .*lacks a right/,
        )
    }
  })

  test('give nobody but the graph a way to give orders', async () => {
    const documented = documentedAcls(kafka.application)
    const mayWrite = documented.filter(
      ({ name, operations }) => name?.endsWith('.orders') === true && operations.includes('WRITE'),
    )
    deepEqual(
      mayWrite.map(({ user }) => user),
      ['graph'],
    )
    for (const user of ['watcher', 'reaper'] as const) {
      const { application, bootstrap: brokers, security } = kafka
      const tls = { ca: readFileSync(security.caFile, 'utf8'), cert: null, key: null }
      const password = security.passwordOf(user)
      const sasl = { mechanism: 'scram-sha-512', username: user, password } as const
      const settings: KafkaSettings = { brokers, application, tls, sasl, compression: 'zstd' }
      const parts = { settings, clientId: user, mayCreate: false, clock: systemClock() }
      await using log = await openKafkaLog(parts)
      await rejects(log.append('orders', 0, [{ key: 'pause/', value: new Uint8Array([1]) }]), {
        message: /lacks a right \(writing to .*\.orders/,
      })
    }
  })

  for (const { service, user, what, message } of LACKS) {
    test(`${service} without ${what} says so and ends`, async () => {
      const cluster = service === 'graph' ? [] : ['--kubeconfig', plane.kubeconfig]
      const data = service === 'graph' ? ['--data', join(folder, `data-${user}`)] : []
      const flags = [...login(user), '--no-create-topics', '--http', '127.0.0.1:0']
      const { code, stderr } = await runKinfold([
        service,
        ...where(),
        ...cluster,
        ...data,
        ...flags,
      ])
      equal(code, 4, stderr)
      match(
        stderr,
        /error: .*this account lacks a right \(.*\); give it the ACLs that docs\/operate\/kafka/,
      )
      ok(stderr.includes(message(kafka.application)), stderr)
    })
  }

  function where(): string[] {
    return ['--brokers', kafka.bootstrap.join(), '--application', kafka.application]
  }

  function login(user: string): string[] {
    const password = ['--sasl-username', user, '--sasl-password-file', join(folder, user)]
    return ['--tls-ca', kafka.security.caFile, '--sasl', 'scram-sha-512', ...password]
  }
})
