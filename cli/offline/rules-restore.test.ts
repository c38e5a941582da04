/**
 * The life of a rule as its users run it: in dry run, planned, enforced, tried on the record,
 * suspended; and what it had deleted comes back.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { type Playground, startPlayground } from '../../playground/playground.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Ran, runKinfold } from '../../testing/process/kinfold-command.ts'
import { ACTING, KinfoldProcess } from '../../testing/process/kinfold-process.ts'

const CONFIG_MAPS = '/api/v1/namespaces/shop/configmaps'
const RULES = `apiVersion: kinfold/v1alpha1
kind: Config
rules:
  - name: old-drafts
    match: { kinds: [ConfigMap], namespaces: [shop], labels: 'draft=true' }
    after: 1s
`

/** What is archived beside what Kinfold deletes, and how a suite is called for it. */
const ARCHIVED: readonly (readonly [string, readonly string[]])[] = [
  ['a rule, over a playground,', []],
  ['a rule about a kind of which all deletions are archived', ['--archive-kinds', 'configmaps']],
]

for (const [name, kinds] of ARCHIVED)
  suite(name, () => {
    const directory = mkdtempSync(join(tmpdir(), 'kinfold-rules-'))
    const data = join(directory, 'kinfold')
    let playground: Playground
    let kinfold: KinfoldProcess

    before(async () => {
      playground = await startPlayground({ directory, clusters: ['north'], workload: false })
      await send('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } })
      const config = join(directory, 'rules.yaml')
      writeFileSync(config, RULES)
      const { kubeconfig } = playground
      const flags = [...ACTING, '--archive', ...kinds, '--config', config]
      kinfold = await KinfoldProcess.start({ kubeconfig, data, flags })
    })
    after(async () => {
      await kinfold?.[Symbol.asyncDispose]()
      await playground?.[Symbol.asyncDispose]()
      rmSync(directory, { recursive: true, force: true })
    })

    test('deletes nothing before an order, and what it deleted can be restored', async () => {
      await make('draft', { draft: 'true' })
      await make('kept', {})
      await eventually('it is held by its rule', async () => {
        const { stdout } = await run('why', 'cm/draft', '-n', 'shop')
        return /Held by rule: rule old-drafts is in dry run/.test(stdout) || stdout
      })
      match((await run('rules', 'plan', 'old-drafts')).stdout, /ConfigMap\/draft/)
      deepEqual(await names(), ['draft', 'kept'])

      const order = await run('rules', 'enforce', 'old-drafts', '--why', 'seen', '--yes')
      equal(order.code, 0, order.stderr)
      await eventually('the draft is deleted', async () => (await names()).join() === 'kept')
      const tried = await run('rules', 'try', 'old-drafts', '--since', '10m')
      match(tried.stdout, /it selects 1 object and would have deleted 1\n/, tried.stderr)
      // As `rules import` prints it, without what says that it is a config file.
      const section = join(directory, 'section.yaml')
      writeFileSync(section, RULES.slice(RULES.indexOf('rules:')))
      const alone = await run('rules', 'try', 'old-drafts', '--since', '10m', '--rules', section)
      equal(alone.stdout.split('\n')[1], tried.stdout.split('\n')[1], alone.stderr)
      equal((await run('rules', 'suspend', 'old-drafts')).code, 0)

      const asked = ['restore', '--rule', 'old-drafts', '--since', '10m', '-n', 'shop']
      const planned = await run(...asked)
      match(
        planned.stdout,
        /^What rule old-drafts had deleted since .*, into north:\n {2}create {2}/,
      )
      match(planned.stdout, /^While rule old-drafts is enforced it deletes them again/m)
      equal((await run(...asked, '--yes')).code, 0)
      deepEqual(await names(), ['draft', 'kept'])
      const other = await run('restore', '--rule', 'other', '--since', '10m')
      deepEqual([other.code, other.stdout], [2, ''])
      match(other.stderr, /nothing that rule other had deleted since then; these have: old-drafts/)
    })

    async function run(...args: readonly string[]): Promise<Ran> {
      return await runKinfold(args, { KINFOLD_DATA: data, KUBECONFIG: playground.kubeconfig })
    }

    async function make(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
      await send('POST', CONFIG_MAPS, { metadata: { name, labels } })
    }

    async function names(): Promise<readonly string[]> {
      const { items } = (await send('GET', CONFIG_MAPS)) as {
        readonly items: readonly { readonly metadata: { readonly name: string } }[]
      }
      const all = items.map(({ metadata }) => metadata.name)
      return all.filter((name) => name !== 'kube-root-ca.crt').sort()
    }

    async function send(method: string, path: string, body?: object): Promise<unknown> {
      const answer = await fetch(`${playground.servers[0]!.url}${path}`, {
        method,
        headers: { 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}`)
      return await answer.json()
    }
  })
