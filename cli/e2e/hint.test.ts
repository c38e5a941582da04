/**
 * Every command that an output names is run as it is printed, in the state that prints it, and does
 * what it says (C7).
 *
 * What must stay true: a hint of the sources that is not run here has to be listed below with the
 * test that runs it. The two clusters share a name and their uids, as one that was made anew or
 * restored shares them with its predecessor: a hint that does not say which is meant is refused
 * there.
 *
 * Not here: whether each hint is a command at all (scripts/hint.test.ts).
 */
import { deepEqual, doesNotMatch, equal, match, notEqual, ok } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { Event } from '../../core/model/event.ts'
import { shellWord } from '../../core/model/text.ts'
import { Controllers } from '../../playground/controllers.ts'
import { type Playground, startPlayground } from '../../playground/playground.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { ServerProcess } from '../../testing/cluster/server-process.ts'
import { eventually } from '../../testing/eventually.ts'
import { filled, hintsInSources, hintsPrinted, isPrintedBy } from '../../testing/hint.ts'
import type { Ran } from '../../testing/process/kinfold-command.ts'
import { Terminal } from '../../testing/process/terminal.ts'
import { GraphGroup, tell } from '../../testing/rig/graph-group.ts'
import { BREAKER_STORY, codec, eventsOf } from '../../testing/rig/task-rig.ts'
import { shellWord as wordOfPage } from '../../web/base/text.ts'
import { noticesOf } from '../process/notice.ts'

const followed = new Set<string>()

/** As it is printed, but for what stands for a user's own words. */
async function follow(
  terminal: Terminal,
  printed: string,
  own: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  followed.add(printed)
  const words = Object.entries({ '…': "'it is over'", ...own })
  const line = words.reduce((text, [each, word]) => text.replace(each, word), printed)
  return await terminal.run(`kinfold ${line}`)
}

/** The commands that its output names. */
async function printedBy(terminal: Terminal, line: string): Promise<readonly string[]> {
  const { stdout, stderr } = await terminal.run(line)
  const printed = hintsPrinted(stdout + stderr)
  notEqual(printed.length, 0, `${line}: ${stdout}${stderr}`)
  return printed
}

/** A command of a text that this test cannot have printed, with values. */
function ofSource(file: string, command: string, values: readonly string[]): string {
  const hint = hintsInSources().find(
    (each) => each.file === file && each.command.startsWith(command),
  )
  ok(hint, `${file} has ${command}`)
  return `kinfold ${filled(hint, values)}`
}

/** A graph process on memory adapters, and a terminal whose `kinfold` asks it. */
class Rig {
  readonly terminal: Terminal
  readonly #group: GraphGroup
  readonly #lines: string[] = []
  #told = 0
  #pods = 0

  private constructor(group: GraphGroup, terminal: Terminal) {
    this.#group = group
    this.terminal = terminal
  }

  static async start(lines: readonly string[]): Promise<Rig> {
    const group = new GraphGroup(1, 0, Date.now())
    const { url } = await group.start()
    const rig = new Rig(group, new Terminal({ KINFOLD_SERVER: url }))
    await rig.tell(lines)
    return rig
  }

  /** More of its story. */
  async tell(lines: readonly string[]): Promise<void> {
    this.#lines.push(...lines)
    const events: Event[] = eventsOf(this.#lines)
    const fresh = await Promise.all(events.slice(this.#told).map((each) => this.#known(each)))
    await tell(this.#group.log, fresh)
    this.#told = events.length
    await this.#group.caughtUp()
  }

  /** A result is that of the command of this log: the story has one of its own. */
  async #known(event: Event): Promise<Event> {
    if (event.type !== 'CommandSettled') return event
    const { entries } = await this.#group.log.read('commands', 0, 0n, { limit: 10_000, waitMs: 0 })
    const commands = entries.flatMap(({ value }) => {
      const record = value === null ? undefined : codec.decode(value)
      const isMeant = record !== undefined && 'target' in record && record.target.uid === event.uid
      return isMeant ? [record.id] : []
    })
    return { ...event, command: commands.at(-1) ?? 'none' }
  }

  /** Runs what is there to be run, and answers with its output. */
  async said(line: string): Promise<string> {
    const { code, stdout, stderr } = await this.terminal.run(line)
    equal(code, 0, `${line}: ${stdout}${stderr}`)
    await this.#group.caughtUp()
    return stdout
  }

  /** A Pod of the first cluster whose owner was just deleted. */
  async lost(): Promise<string> {
    const name = `lost${++this.#pods}`
    const pod = `pod/${name} <- rs/${name} [annotation:note=a;b'c]`
    await this.tell(['cluster c', `put rs/${name}`, `put ${pod}`, `delete rs/${name}`])
    return `pod/${name} -n ns --cluster c`
  }

  /** Begins a state, and answers with the commands that each question names in it. */
  async begun(order: string, asked: readonly string[]): Promise<ReadonlySet<string>> {
    await this.said(order)
    const pod = await this.lost()
    const lines = asked.map((line) => line.replace('POD', pod))
    return new Set((await Promise.all(lines.map((each) => printedBy(this.terminal, each)))).flat())
  }

  /**
   * Each command that a question names in a state ends that state, which is seen in what is held.
   */
  async ends(order: string, asked: readonly string[], state: RegExp): Promise<void> {
    const first = await this.begun(order, asked)
    for (const [at, each] of [...first].entries()) {
      if (at > 0) await this.begun(order, asked)
      const { code, stdout, stderr } = await follow(this.terminal, each)
      equal(code, 0, `${each}: ${stderr}`)
      doesNotMatch(stdout, /No such|Still p/, each)
      await this.#group.caughtUp()
      doesNotMatch((await this.terminal.run('kinfold held')).stdout, state, each)
    }
  }

  async stop(): Promise<void> {
    await this.#group.stop()
    this.terminal[Symbol.dispose]()
  }
}

const COUNTS = {
  mode: 0,
  pause: 0,
  protection: 0,
  approval: 1,
  breaker: 1,
  hold: 1,
  budget: 0,
  rule: 0,
}
/**
 * What a browser prints, or who has ten thousand dependents: by file and beginning, with values.
 */
const IN_SOURCES = [
  ['web/home.ts', 'status', []],
  ['web/plan.ts', 'plan delete', ['uid:rs-kept', 'c', 'foreground']],
  ['web/past/past.ts', 'tree', ['uid:rs-kept', 'c', 'pos:0-40']],
  ['services/graph/query/answer/tree.ts', 'get', []],
] as const
const MAPS = '/api/v1/namespaces/default/configmaps'
const LABELS = { app: 'web' }
const TEMPLATE = { metadata: { labels: LABELS }, spec: { containers: [{ name: 'a', image: 'b' }] } }
const WEB = { spec: { replicas: 1, selector: { matchLabels: LABELS }, template: TEMPLATE } }

/** What needs brokers, an API server of its own or an old data directory: the test that runs it. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'adapters/kafka/failure.ts: topics apply raises it': 'cli/e2e/kafka-bad-input.kafka.test.ts',
  'adapters/kafka/topics.ts: topics apply makes them': 'cli/e2e/kafka-bad-input.kafka.test.ts',
  'adapters/kafka/topics.ts: topics apply sets it': 'cli/e2e/kafka-bad-input.kafka.test.ts',
  'adapters/kafka/topics.ts: graph without --no-create-topics': 'cli/e2e/apart.kafka.test.ts',
  'adapters/sqlite/log.ts: upgrade --data DIR': 'cli/offline/upgrade.test.ts',
  'cli/ask/held.ts: approve': 'cli/e2e/hint.test.ts',
  'cli/ask/status.ts: history -A --change phase◇': 'cli/ask/history.test.ts',
  'cli/ask/status.ts: plan forget-cluster ◇': 'cli/e2e/forget-cluster.cluster.test.ts',
  'cli/ask/status.ts: remember-cluster ◇ --why …': 'cli/order/forget.test.ts',
  'cli/example.ts: completion bash': 'cli/complete.test.ts',
  'cli/offline/upgrade.ts: upgrade --data ◇': 'cli/offline/upgrade.test.ts',
  'cli/print/across-text.ts: tree --across ◇◇ --cluster ◇': 'cli/e2e/across.cluster.test.ts',
  'cli/print/why-text.ts: restore': 'cli/offline/restore.cluster.test.ts',
  'cli/process/identity.ts: doctor lists all it needs': 'cli/e2e/lock.cluster.test.ts',
  'cli/process/log-time.ts: confirm-clock --why TEXT': 'cli/e2e/clock-step.test.ts',
  'cli/reach/client.ts: up': 'testing/process/kinfold-process.ts',
  'cli/reach/client.ts: graph': 'cli/e2e/apart.kafka.test.ts',
  'cli/reach/client.ts: playground': 'cli/e2e/banner.cluster.test.ts',
  'cli/serve/up.ts: watcher': 'cli/e2e/rights.kafka.test.ts',
  'cli/setup/account-kubeconfig.ts: rbac --service ◇ …': 'cli/e2e/managed.cluster.test.ts',
  'cli/setup/checkup.ts: rbac --from-cluster --service observe': 'cli/e2e/lock.cluster.test.ts',
  'cli/setup/rbac.ts: rbac': 'cli/e2e/lock.cluster.test.ts',
  'cli/setup/rule-rights.ts: rbac --config': 'cli/e2e/rule-actions.cluster.test.ts',
  'cli/setup/rule-rights.ts: rbac --cleanup-policies': 'cli/e2e/cleanup-policies.cluster.test.ts',
  'services/graph/api/answer-schema.ts: restore': 'cli/offline/restore.cluster.test.ts',
  'services/graph/fold/fold-version.ts: upgrade --data DIR': 'cli/offline/upgrade.test.ts',
  'services/graph/fold/generation.ts: upgrade': 'cli/offline/upgrade.test.ts',
  'services/graph/orders/directive-order.ts: rules explain': 'cli/ask/rules.test.ts',
  'services/graph/query/answer/restored.ts: restore says': 'cli/offline/restore.cluster.test.ts',
  'web/diff-text.ts: diff': 'cli/ask/diff.test.ts',
  'web/home.ts: status --all': 'cli/ask/status.test.ts',
  'web/record/deletions.ts: deletions': 'cli/ask/history.test.ts',
  'web/tree/across.ts: tree --across ◇◇ --cluster ◇': 'cli/e2e/across.cluster.test.ts',
}

const SHOP = ['put rs/web', 'put pod/a <- rs/web', 'put rs/kept', 'put pod/b <- rs/kept']
/** Two clusters with one name and the same objects. */
const TWICE = [...SHOP, 'put pod/c', 'delete pod/c', 'put pod/c@pod-later', 'cluster c2', ...SHOP]
/** Owners that are missing from a cluster that is another than before. */
const BULK = [
  ...['put rs/b', 'put pod/1 <- rs/b', 'put pod/2 <- rs/b', 'lose rs/b'],
  ...['rollback', 'relist rs', 'relist pod', 'beat 30'],
]

suite('each hint is run as it is printed,', { concurrency: true }, () => {
  suite('by a graph process of two clusters,', { concurrency: 1 }, () => {
    let twin: Rig
    before(async () => {
      twin = await Rig.start(TWICE)
    })
    after(async () => await twin?.stop())

    test('while all clusters are paused, or one is (C7)', async () => {
      const asked = ['kinfold status', 'kinfold held', 'kinfold why POD']
      for (const scope of ['', ' --cluster c']) {
        await twin.ends(`kinfold pause --why 'a test'${scope}`, asked, / paused by /)
      }
    })

    test('while something is protected by name, whatever is in it', async () => {
      const asked = ['kinfold held', 'kinfold why POD']
      for (const subject of ['namespace/ns', `"annotation/note=a;b'c"`]) {
        const scopes = subject.startsWith('"') ? [' --cluster c'] : ['', ' --cluster c']
        for (const scope of scopes) {
          await twin.ends(
            `kinfold protect ${subject} --why 'a test'${scope}`,
            asked,
            /is protected/,
          )
        }
      }
    })

    test('about one of two objects of a name or uid', async () => {
      const [other, ...others] = await printedBy(
        twin.terminal,
        'kinfold why pod/c -n ns --cluster c',
      )
      deepEqual(others, [])
      const was = await follow(twin.terminal, other!)
      match(was.stdout, /, uid pod-c$/m, was.stderr)
      // Of one that exists its cascade, and of one that was deleted its plan, is the wrong
      // question.
      for (const [line, state] of [
        ['kinfold cascade replicaset/kept -n ns --cluster c', /Pod\/b/],
        ['kinfold cascade -w replicaset/kept -n ns --cluster c', /Pod\/b/],
        ['kinfold plan delete uid:pod-c --cluster c', /Pod\/c/],
      ] as const) {
        await instead(line, state)
      }
    })

    test('where a command was the wrong one', async () => {
      await instead('kinfold diff pod/b -n ns --cluster c --from 1h', /created/)
      await instead('kinfold get --owned-by replicaset/kept -n ns --at 1h', /Pod\/b/)
    })

    /** The one command that it names is the right one. */
    async function instead(line: string, said: RegExp): Promise<void> {
      const own = { 'KIND/NAME': 'replicaset/kept -n ns --cluster c', MOMENT: 'pos:0-40' }
      const [right = '', ...more] = await printedBy(twin.terminal, line)
      deepEqual(more, [], line)
      const { code, stdout, stderr } = await follow(twin.terminal, right, own)
      equal(code, 0, `${right}: ${stderr}`)
      match(stdout, said, right)
    }

    test('of what a page shows, and of a notice', async () => {
      const { terminal } = twin
      const notices = noticesOf(
        ['c', 'c2'].map((cluster) => ({ cluster, held: COUNTS, isBreakerOpen: true })),
        () => 'test',
        [],
      )
      const ofPage = IN_SOURCES.map(([file, command, values]) => ofSource(file, command, values))
      for (const text of new Set([...ofPage, ...notices.map(({ command }) => command)])) {
        const own = { 'KIND/NAME': 'replicaset/kept -n ns --cluster c' }
        const { code, stderr } = await follow(terminal, text.replace('kinfold ', ''), own)
        // What needs a person is an exit code of its own.
        ok(code === 0 || (code === 1 && text === 'kinfold status'), `${text}: ${stderr}`)
      }
    })
  })

  suite('by a graph process of one cluster,', { concurrency: 1 }, () => {
    let solo: Rig
    before(async () => {
      solo = await Rig.start(SHOP)
    })
    after(async () => await solo?.stop())

    test('of an object with more owners than a record has', async () => {
      const owners = Array.from({ length: 70 }, (_, each) => `rs/o${each}`)
      await solo.tell([
        ...owners.map((each) => `put ${each}`),
        `put pod/many <- ${owners.join(', ')}`,
      ])
      const [tree = ''] = await printedBy(solo.terminal, 'kinfold lineage export -o jsonl')
      const own = { 'KIND/NAME': 'pod/many -n ns --owners' }
      const { code, stdout, stderr } = await follow(solo.terminal, tree, own)
      equal(code, 0, stderr)
      match(stdout, /ReplicaSet\/o69/)
    })

    test('where the cluster refuses, and where a kind is not watched', async () => {
      await solo.tell(['put rs/x', 'put pod/x <- rs/x', 'delete rs/x'])
      await solo.tell(['settle pod/x blocked'])
      const [held = ''] = await printedBy(solo.terminal, 'kinfold status')
      match((await follow(solo.terminal, held)).stdout, /^Refused in cluster test: 1 object/m)
      // A kind whose watcher is of an older version: doctor is run below, where there is a cluster.
      await solo.tell(['serve widget unmonitored'])
      deepEqual(await printedBy(solo.terminal, 'kinfold why widget/x -n ns'), ['doctor'])
    })

    test('while a set waits for a person, and while none does', async () => {
      const { terminal } = solo
      const approve = `kinfold approve sha256:${'0'.repeat(64)} --why 'a test'`
      const [held = ''] = await printedBy(terminal, approve)
      match((await follow(terminal, held)).stdout, /Nothing(?: else)? is held/)
      await solo.tell(BULK)
      const asked = ['kinfold status', approve, `kinfold approve '' --why 'a test'`]
      for (const line of asked) {
        const plans = (await printedBy(terminal, line)).filter((each) => each.startsWith('plan'))
        equal(plans.length, 1, line)
        match((await follow(terminal, plans[0]!)).stdout, /^Waiting for approval/, line)
      }
      const [approval = ''] = await printedBy(terminal, 'kinfold plan held')
      const { code, stderr } = await follow(terminal, approval)
      equal(code, 0, stderr)
      match(await solo.said('kinfold plan held'), /^Nothing waits for approval/)
    })

    test('of rules that are in dry run, enforced, or over their limit', async (t) => {
      const ruled = await Rig.start([
        ...['rule old rs 10', 'rule burst cm 10 limit:1', 'put rs/a'],
        ...['put cm/x', 'put cm/y', 'put cm/z'],
      ])
      t.after(async () => await ruled.stop())
      const { terminal } = ruled
      // As an Event on an object says it, ahead of its deletion.
      const event = ofSource('core/issue/warning.ts', 'rules explain', ['old', 'ReplicaSet/a'])
      const ahead = event.replace('kinfold ', '').replace('◇', ' -n ns')
      const explained = await follow(terminal, ahead)
      match(explained.stdout, /^ReplicaSet\/a -n ns: due since /m, explained.stderr)
      const [list = ''] = await printedBy(terminal, 'kinfold status')
      const { stdout } = await follow(terminal, list)
      const [burst = ''] = hintsPrinted(stdout)
      const [dry = ''] = await printedBy(terminal, 'kinfold why replicaset/a -n ns')
      for (const [enforce, rule] of [
        [burst, 'burst'],
        [dry, 'old'],
      ] as const) {
        // A person is asked there; a script names the rule that it means.
        const unasked = await follow(terminal, enforce)
        equal(unasked.code, 2, unasked.stderr)
        const [bound = ''] = hintsPrinted(unasked.stderr)
        deepEqual(await printedBy(terminal, `kinfold rules plan ${rule}`), [bound])
        const { code, stderr } = await follow(terminal, bound)
        equal(code, 0, `${bound}: ${stderr}`)
        match(await ruled.said('kinfold rules list'), RegExp(`^${rule} +enforced`, 'm'))
        const [suspend = ''] = await printedBy(terminal, `kinfold rules plan ${rule}`)
        equal((await follow(terminal, suspend)).code, 0)
        match(await ruled.said('kinfold rules list'), RegExp(`^${rule} +dry run`, 'm'))
      }
    })

    test('while a breaker is open', async (t) => {
      const flood = await Rig.start([...TWICE, 'cluster c', ...BREAKER_STORY])
      t.after(async () => await flood.stop())
      const [held = ''] = await printedBy(flood.terminal, 'kinfold status')
      const { stdout } = await follow(flood.terminal, held)
      match(stdout, /breaker/)
      const close = new Set([
        ...hintsPrinted(stdout),
        ...(await printedBy(flood.terminal, 'kinfold why pod/b100 -n ns --cluster c')),
      ])
      equal(close.size, 1, [...close].join())
      const closed = await follow(flood.terminal, [...close][0]!)
      equal(closed.code, 0, closed.stderr)
      doesNotMatch(closed.stdout, /No breaker/)
      doesNotMatch(await flood.said('kinfold held --cluster c'), /breaker/)
    })
  })

  suite('over a playground,', { concurrency: 1 }, () => {
    const stop = new AbortController()
    let playground: Playground
    let controllers: Promise<void>
    let terminal: Terminal
    let data: string
    let kinfold: ServerProcess | undefined

    before(async () => {
      const directory = mkdtempSync(join(tmpdir(), 'kinfold-hint-'))
      playground = await startPlayground({ directory, clusters: ['north'], workload: false })
      controllers = new Controllers(playground.servers[0]!.api, systemClock()).run(stop.signal)
      const { kubeconfig } = playground
      terminal = new Terminal({
        KUBECONFIG: kubeconfig,
        XDG_DATA_HOME: join(directory, 'its data'),
      })
      data = join(directory, 'its data', 'kinfold')
    })
    after(async () => {
      await kinfold?.stop()
      stop.abort()
      await controllers
      await playground?.[Symbol.asyncDispose]()
      rmSync(dirname(playground.kubeconfig), { recursive: true, force: true })
      terminal[Symbol.dispose]()
    })

    test('where none runs yet, and when it is ready', async () => {
      const [up = ''] = await printedBy(terminal, `kinfold status --data '${data}'`)
      await start(up)
      let ready = ''
      await eventually('its log says what to ask first', async () => {
        const log = readFileSync(terminal.logFile, 'utf8')
        ready = /"try":"kinfold ([^"]+)"/.exec(log)?.[1] ?? ''
        return ready !== '' || log
      })
      match((await follow(terminal, ready)).stdout, /^Nothing is held/)
      for (const what of ['doctor', 'shadow', 'doctor --context north']) {
        const { code, stdout, stderr } = await follow(terminal, what)
        equal(code, 0, `${what}: ${stdout}${stderr}`)
      }
    })

    test('of the tree of a namespace, which owns nothing', async () => {
      const printed = await printedBy(terminal, 'kinfold tree ns/default')
      equal(printed.length, 2, printed.join())
      for (const hint of printed) {
        const { code, stdout, stderr } = await follow(terminal, hint)
        equal(code, 0, `${hint}: ${stdout}${stderr}`)
      }
    })

    test('of a restore without an archive, of a deletion, and of a restore whose owner is deleted, or of a namespace', async () => {
      const refused = await terminal.run('kinfold restore deploy/web')
      equal(refused.code, 2)
      const archiving = /it is empty: a Kinfold that runs with (--archive --archive-kinds \S+)/
      const [, flags = ''] = archiving.exec(refused.stderr) ?? []
      match(flags, /deployments/, refused.stderr)
      await kinfold?.stop()
      await start(`up --data '${data}' ${flags}`)
      const metadata = { name: 'web', labels: LABELS }
      const web = await create('/apis/apps/v1/namespaces/default/deployments', { ...WEB, metadata })
      const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: web }
      const ownerReferences = [{ ...owner, blockOwnerDeletion: true }]
      const settings = { metadata: { name: 'settings', ownerReferences, finalizers: ['a.test/b'] } }
      await create(MAPS, settings)
      await eventually('it is observed', async () => {
        const { stdout, stderr } = await terminal.run('kinfold tree deploy/web')
        return stdout.includes('ConfigMap/settings') || stdout + stderr
      })
      const deletion = 'kinfold delete deploy/web --cascade foreground --yes'
      const [followed = ''] = await printedBy(terminal, deletion)
      const [progress = ''] = await printedBy(terminal, deletion)
      match((await follow(terminal, progress)).stdout, /ConfigMap\/settings/)
      const end = follow(terminal, followed)
      const patch = { metadata: { finalizers: null } }
      await send('PATCH', `${MAPS}/settings`, patch, 'application/merge-patch+json')
      equal((await end).code, 0)
      const [first = ''] = await eventuallyPrinted('kinfold restore cm/settings --only')
      const planned = await follow(terminal, first)
      equal(planned.code, 0, planned.stdout + planned.stderr)
      const page = ofSource('web/base/command.ts', 'restore', [`uid:${web}`, 'north'])
      equal((await follow(terminal, page.replace('kinfold ', ''))).code, 0, page)
      const done = await terminal.run(`kinfold ${first} --yes`)
      equal(done.code, 0, done.stdout + done.stderr)
      equal((await follow(terminal, `why uid:${web} --cluster ${await idOf()}`)).code, 0)
      const [deletions = ''] = await printedBy(terminal, 'kinfold restore ns/default')
      equal(deletions, 'deletions -n default')
      match((await follow(terminal, deletions)).stdout, / deployment\.apps\/web /)
    })

    /** But for the port, and a mode that deletes. */
    async function start(up: string): Promise<void> {
      followed.add(up)
      const flags = '--http 127.0.0.1:0 --mode enforce --preset parity --lock off'
      kinfold = await terminal.start(`kinfold ${up} ${flags}`)
      await eventually('it is ready', async () => {
        const { code, stdout, stderr } = await terminal.run('kinfold status')
        return code === 0 || stdout + stderr
      })
    }

    async function eventuallyPrinted(line: string): Promise<readonly string[]> {
      let printed: readonly string[] = []
      await eventually('a command is printed', async () => {
        const { stdout, stderr } = await terminal.run(line)
        printed = hintsPrinted(stdout + stderr)
        return printed.length > 0 || stdout + stderr
      })
      return printed
    }

    async function idOf(): Promise<string> {
      const { stdout } = await terminal.run('kinfold status -o json')
      return (JSON.parse(stdout) as { clusters: { cluster: { id: string } }[] }).clusters[0]!
        .cluster.id
    }

    async function create(path: string, body: object): Promise<string> {
      return ((await send('POST', path, body)) as { metadata: { uid: string } }).metadata.uid
    }

    async function send(method: string, path: string, body: object, type = 'application/json') {
      const answer = await fetch(`${playground.servers[0]!.url}${path}`, {
        ...{ method, headers: { 'content-type': type }, body: JSON.stringify(body) },
      })
      ok(answer.ok, `${method} ${path} was answered ${answer.status}`)
      return await answer.json()
    }
  })
})

test('no hint is left out: each was run above, or is run by another test', () => {
  const left = hintsInSources().filter((hint) => {
    return ![...followed].some((printed) => isPrintedBy(printed, hint))
  })
  const elsewhere = Object.keys(ELSEWHERE)
  deepEqual(
    left
      .map(({ file, command }) => `${file}: ${command}`)
      .filter((each) => !elsewhere.includes(each)),
    [],
  )
  for (const [hint, where] of Object.entries(ELSEWHERE)) {
    const [file = '', command = ''] = hint.split(': ')
    ok(
      left.some((each) => each.file === file && each.command === command),
      `${hint} is left`,
    )
    const text = readFileSync(join(import.meta.dirname, '..', '..', where), 'utf8')
    ok(new RegExp(`[ '\`]${command.split(' ')[0]}\\b`).test(text), `${where} runs ${hint}`)
  }
})

test('the page has the same word for a shell, and a shell takes it for the value', async () => {
  using terminal = new Terminal({})
  for (const text of ['north', 'a b', "it's", '$(touch x)', 'a;b', 'label/k=v', '*', '']) {
    const word = shellWord(text)
    equal(wordOfPage(text)?.replaceAll("'", ''), word.replaceAll("'", ''))
    equal((await terminal.run(`printf %s ${word}`)).stdout, text)
  }
})
