/**
 * What `kinfold playground` prints can be pasted: each command, alone, into a shell of its own in
 * another directory.
 *
 * Not here: what the commands answer (their own tests), examples in documents (testing/examples).
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { missingServers, requireBinary } from '../../testing/cluster/binaries.ts'
import { eventually } from '../../testing/eventually.ts'
import { startKinfold } from '../../testing/process/kinfold-command.ts'

const skip = missingServers('kubectl') ?? false
const TIMEOUT_MS = 60_000

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function directory(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'kinfold-banner-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** Its banner, once it is whole. */
async function banner(t: TestContext, flags: readonly string[]): Promise<string> {
  const { child, ended } = startKinfold(['playground', '--http', '127.0.0.1:0', ...flags])
  let printed = ''
  child.stdout?.on('data', (chunk) => {
    printed += chunk
  })
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
  })
  await eventually('the banner', async () => printed.includes('Ctrl-C') || printed)
  return printed
}

async function pasted(command: string, cwd: string): Promise<Ran> {
  const { PATH = '', ...others } = process.env
  const env = {
    ...others,
    HOME: cwd,
    PATH: [dirname(requireBinary('kubectl')), PATH].join(delimiter),
  }
  return await new Promise((resolve) =>
    execFile('sh', ['-c', command], { cwd, env, timeout: TIMEOUT_MS }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    ),
  )
}

test('each command of the banner works as it is printed, the archive among them', {
  skip,
}, async (t) => {
  const cwd = directory(t)
  const text = await banner(t, ['--archive'])
  const commands = text
    .split('\n')
    .filter((line) => /^ {2}\S+ [a-z-]/.test(line) && !line.includes('   '))
  const [tree, plan, remove, why, across, beside, rule, ...rest] = commands.map((line) =>
    line.trim(),
  )
  const [enforce, edge, along, leave, owned, restore, restored, tail, none] = rest
  equal(none, undefined, text)
  const first = await pasted(tree!, cwd)
  match(
    first.stdout,
    /^Deployment\/web -n shop {2}\(cluster north\)\n.*ConfigMap\/web-settings/s,
    first.stderr,
  )
  const planned = await pasted(plan!, cwd)
  match(planned.stdout, /ConfigMap\/web-settings/, planned.stderr)
  const removed = await pasted(remove!, cwd)
  equal(removed.code, 0, removed.stderr)
  await eventually('the dependents are deleted, and why says so', async () => {
    const { stdout, stderr } = await pasted(why!, cwd)
    return stdout.includes('Deleted ') || stdout + stderr
  })
  await eventually('an Application has its objects in both clusters', async () => {
    const { stdout, stderr } = await pasted(across!, cwd)
    return /^4 objects in 2 clusters bear marks of Argo CD/m.test(stdout) || stdout + stderr
  })
  match((await pasted(beside!, cwd)).stdout, /^Beside that, seen by marks .*: 4 objects in 2/m)
  await eventually('half a minute later a rule in dry run is due', async () => {
    const { stdout, stderr } = await pasted(rule!, cwd)
    return /held by rule/.test(stdout) || stdout + stderr
  })
  equal((await pasted(enforce!, cwd)).code, 0)
  await eventually('and deletes what is due once it is enforced', async () => {
    const { stdout, stderr } = await pasted(rule!, cwd)
    return /^Enforced by .* \(seen its plan\)/m.test(stdout) || stdout + stderr
  })
  await eventually('an owner in the other cluster is there', async () => {
    const { stdout, stderr } = await pasted(edge!, cwd)
    return stdout.includes('that owner is there') || stdout + stderr
  })
  match((await pasted(along!, cwd)).stdout, /rule follows-north takes it along 1 h after its owner/)
  equal((await pasted(leave!, cwd)).code, 0)
  await eventually('its deletion is known in this one', async () => {
    const { stdout, stderr } = await pasted(edge!, cwd)
    return /that owner was deleted/.test(stdout) || stdout + stderr
  })
  await eventually('why names it, and who deleted it there', async () => {
    const { stdout, stderr } = await pasted(owned!, cwd)
    const owner = /owner ConfigMap\/region -n hub in cluster north.*was deleted/
    const there = /^ +there: Deleted .* by alice/m
    return (owner.test(stdout) && there.test(stdout)) || stdout + stderr
  })
  await eventually('restore finds them in the archive', async () => {
    const { code, stdout, stderr } = await pasted(restore!, cwd)
    const isFound =
      stdout.startsWith('Deployment/web (uid ') && stdout.includes('ConfigMap/web-settings')
    return (isFound && code === 0) || stdout + stderr
  })
  // C5: the tour ends with everything back.
  const back = await pasted(restored!, cwd)
  equal(back.code, 0, back.stdout + back.stderr)
  // The watch reports what was created in its own time.
  await eventually('the tree is as it was', async () => {
    const { stdout, stderr } = await pasted(tree!, cwd)
    const isBack = /^Deployment\/web -n shop {2}\(cluster north\)\n.*ConfigMap\/web-settings/s
    return isBack.test(stdout) || stdout + stderr
  })
  const followed = await pasted(`${tail} | head -n 1`, cwd)
  deepEqual([followed.code, followed.stdout.split('\n').length], [0, 2], followed.stderr)
  const alias = /^alias kinfold=.*$/m.exec(text)?.[0]
  match((await pasted(`${alias}\nkinfold --version`, cwd)).stdout, /^\d+\.\d+\.\d+\n$/)
  // What messages and the page print is about this playground, whatever else runs.
  const asked = await pasted(`${alias}\nkinfold status`, cwd)
  const [, url] = /^ {2}page +(\S+)\/$/m.exec(text)!
  ok(asked.stdout.includes(`Asked ${url}\n`), asked.stdout + asked.stderr)
  const [, uid] = /^Deployment\/web \(uid (\S+)\)/m.exec(back.stdout)!
  const ofPage = await pasted(`${alias}\nkinfold restore uid:${uid} --context north`, cwd)
  match(ofPage.stdout, /^Deployment\/web/, ofPage.stderr)
})

test('without a workload the banner names no object of it, without an archive no restore', {
  skip,
}, async (t) => {
  const text = await banner(t, ['--no-workload'])
  ok(!text.includes('deploy/web'), text)
  ok(!/ restore /.test(text), text)
})
