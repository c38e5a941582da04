/**
 * What is offered at a Tab: what commander knows, and of a running Kinfold its clusters and kinds.
 */
import { deepEqual, doesNotThrow, equal, ok } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import type { Command } from 'commander'
import { ServerProcess } from '../testing/cluster/server-process.ts'
import { eventually } from '../testing/eventually.ts'
import { startKinfold } from '../testing/process/kinfold-command.ts'
import { complete, FLAG_VALUES, OUTPUTS } from './complete.ts'
import { type UpFlags, upConfig } from './config/config.ts'
import { createProgram } from './program.ts'

/** Nothing listens there. */
const NOWHERE = ['--server', 'http://127.0.0.1:1']

async function values(...words: readonly string[]): Promise<readonly string[]> {
  return (await complete(words)).values.map(([value]) => value)
}

function everyCommand(command: Command, path: readonly string[]): [Command, readonly string[]][] {
  const below = command.commands.flatMap((each) => everyCommand(each, [...path, each.name()]))
  return path.length === 0 ? below : [[command, path], ...below]
}

const everything = everyCommand(await createProgram(), [])

function directory(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'kinfold-complete-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

suite('at a Tab', () => {
  test('every command is offered, and every subcommand', async () => {
    const offered: string[] = [...(await values(''))]
    for (const [command, path] of everything) {
      if (command.commands.length === 0) continue
      offered.push(...(await values(...path, '')).map((name) => [...path, name].join(' ')))
    }
    deepEqual(offered.sort(), everything.map(([, path]) => path.join(' ')).sort())
  })

  for (const [command, path] of everything) {
    test(`${path.join(' ')} has all its flags`, async () => {
      const shown = command.options.filter(({ hidden }) => !hidden)
      const flags = shown.flatMap(({ long }) => long ?? [])
      deepEqual(await values(...path, '--'), [...flags, '--help'])
    })
  }

  test('the outputs are those of each command', () => {
    const written = everything.flatMap(([{ options }, path]) => {
      const output = options.find(({ long }) => long === '--output')
      if (output === undefined || output.argChoices !== undefined) return []
      const words = output.description.replace(/ \(.*| or/g, ',').split(/, ?/)
      return [[path.join(' '), words.filter((word) => word !== '')]]
    })
    deepEqual(OUTPUTS, Object.fromEntries(written))
  })

  test('values of flags are taken', () => {
    const flagOf = (long: string): string =>
      long.slice(2).replaceAll(/-./g, (at) => at.slice(1).toUpperCase())
    for (const [long, all] of Object.entries(FLAG_VALUES)) {
      for (const value of all) doesNotThrow(() => upConfig({ [flagOf(long)]: value } as UpFlags))
    }
  })

  test('a flag that was written wants its value, and then no longer', async () => {
    deepEqual(await values('up', '--mode', ''), ['observe', 'dry-run', 'enforce'])
    deepEqual(await values('tree', '-o', 'm'), ['mermaid'])
    deepEqual(await values('plan', 'delete', '--cascade', 'o'), ['orphan'])
    deepEqual(await values('tree', '-o', 'json', '--own'), ['--owners'])
    deepEqual(await complete(['up', '--config', 'k']), { values: [], directive: 0 })
  })

  test('a flag with its value in one word is read, and completed, however the shell parts it (C11)', async () => {
    deepEqual(await values('up', '--mode=d'), ['dry-run'])
    deepEqual(await values('up', '--mode='), ['observe', 'dry-run', 'enforce'])
    deepEqual(await values('up', '--mode', '='), ['observe', 'dry-run', 'enforce'])
    deepEqual(await values('up', '--mode', '=', 'd'), ['dry-run'])
    deepEqual(await values('tree', '--output=json', '--own'), ['--owners'])
    deepEqual(await values('tree', '--output', '=', 'json', '--own'), ['--owners'])
    const here = ['--server=http://127.0.0.1:1', '--namespace=shop']
    deepEqual(await values('tree', ...here, 'dep'), ['deploy/'])
    deepEqual(await values('tree', '--server', '=', 'http://127.0.0.1:1', 'dep'), ['deploy/'])
  })

  test('each kind of several is completed, and none twice (C11)', async () => {
    deepEqual(await values('get', ...NOWHERE, 'po,dep'), ['po,deploy'])
    deepEqual(await values('get', ...NOWHERE, 'deploy,po,dep'), [])
    // These take one.
    deepEqual(await values('diff', ...NOWHERE, 'po,dep'), [])
  })

  test('without a Kinfold the kinds that every cluster has are offered, and no space after them', async () => {
    const { values, directive } = await complete(['tree', ...NOWHERE, 'dep'])
    deepEqual([values, directive], [[['deploy/', '']], 6])
    deepEqual((await complete(['tree', ...NOWHERE, 'deploy/web', ''])).values, [])
    const owner = await complete(['get', ...NOWHERE, '--owned-by', 'dep'])
    deepEqual([owner.values, owner.directive], [[['deploy/', '']], 6])
    deepEqual((await complete(['tree', ...NOWHERE, '--cluster', ''])).values, [])
  })

  test('contexts are those of the kubeconfig', async (t) => {
    const file = join(directory(t), 'config')
    const contexts = ['south', 'north'].map((name) => ({ name, context: {} }))
    writeFileSync(file, JSON.stringify({ contexts }))
    const words = ['tree', '--kubeconfig', file, '--context']
    deepEqual(await values(...words, ''), ['north', 'south'])
    writeFileSync(file, 'contexts: [')
    deepEqual(await values(...words, ''), [])
  })

  test('what is no command has nothing', async () => {
    deepEqual(await values('treee', ''), [])
    deepEqual(await values('constructor', ''), [])
  })

  test('a running Kinfold has its clusters, kinds, names and namespaces, wherever they stand (C11)', async (t) => {
    const data = directory(t)
    const main = join(import.meta.dirname, 'main.ts')
    const args = [main, 'playground', '--http', '127.0.0.1:0', '--data', data]
    const logFile = `${data}.log`
    t.after(() => rmSync(logFile, { force: true }))
    const command = { name: 'playground', binary: process.execPath, args, logFile }
    await using _ = await ServerProcess.start(command, async () => true)
    await eventually('it knows both clusters', async () => {
      const clusters = await values('tree', '--data', data, '--cluster', '')
      return clusters.join() === 'north,south' || clusters.join()
    })
    await eventually('it knows a kind', async () => {
      const kinds = await values('tree', '--data', data, 'confi')
      return kinds.join() === 'configmap/' || kinds.join()
    })
    const here = ['--data', data, '--cluster', 'south', '-n', 'shop']
    for (const command of ['get', 'deletions', 'diff']) {
      equal((await values(command, ...here, 'configm')).join(), 'configmap')
    }
    equal((await values('lineage', 'export', ...here, '--kind', 'configm')).join(), 'configmap')
    await eventually('it knows names', async () => {
      const near = ['--data', data, '--cluster=south', '--namespace=shop']
      const offered = [
        await values('tree', ...near, 'deploy/w'),
        await values('get', ...here, 'deploy', 'w'),
        await values('why', ...here, 'deploy', 'w'),
        await values('get', '--data', data, '--cluster', 'south', '-n', 'sho'),
      ].join(' ')
      return offered === 'deploy/web web web shop' || offered
    })
  })
})

suite('the script of', () => {
  const LAUNCHER = join(import.meta.dirname, 'kinfold.js')

  /** With `kinfold` on PATH. What the shell writes, in lines. */
  function inShell(t: TestContext, shell: string, script: string): readonly string[] {
    const folder = directory(t)
    symlinkSync(LAUNCHER, join(folder, 'kinfold'))
    const env = { ...process.env, PATH: [folder, process.env['PATH']].join(delimiter) }
    const { status, stdout, stderr } = spawnSync(shell, ['-c', script], { env, encoding: 'utf8' })
    equal(status, 0, stderr)
    return stdout.trimEnd().split('\n')
  }

  function missing(shell: string): string | false {
    return spawnSync(shell, ['-c', 'true']).error === undefined ? false : `no ${shell} here`
  }

  test('bash offers what is offered', { skip: missing('bash') }, (t) => {
    const words = '"kinfold" "plan" ""'
    const script = `source <(kinfold completion bash); complete -p kinfold
      COMP_WORDS=(${words}); COMP_CWORD=2; _kinfold kinfold; printf '%s\\n' "\${COMPREPLY[@]}"`
    const offered = ['held', 'forget-cluster', 'delete']
    deepEqual(inShell(t, 'bash', script), ['complete -F _kinfold kinfold', ...offered])
  })

  test('fish offers what is offered', { skip: missing('fish') }, (t) => {
    const script = 'kinfold completion fish | source; complete -C "kinfold plan "'
    deepEqual(inShell(t, 'fish', script), ['delete', 'forget-cluster', 'held'])
  })

  test('zsh is understood by it', { skip: missing('zsh') }, (t) => {
    const script = `autoload -Uz compinit; compinit -u -D; source <(kinfold completion zsh)
      print $_comps[kinfold]`
    deepEqual(inShell(t, 'zsh', script), ['_kinfold'])
  })

  test('no other shell is made', async () => {
    const { code, stderr } = await startKinfold(['completion', 'tcsh']).ended
    equal(code, 2)
    ok(stderr.includes('bash, zsh, fish'), stderr)
  })
})
