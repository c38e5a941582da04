/** The playground names who asked: its API servers send their audit logs to its Kinfold. */
import { equal, match } from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, watch } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold, startKinfold } from '../../testing/process/kinfold-command.ts'

test('whoever finds the endpoint of a playground finds its kubeconfig', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'kinfold-playground-steps-'))
  const found = new Promise<boolean>((resolve) => {
    const watcher = watch(data, () => {
      if (!existsSync(join(data, 'http.json'))) return
      watcher.close()
      resolve(existsSync(join(data, 'kubeconfig')))
    })
  })
  const { child, ended } = startKinfold(['playground', '--http', '127.0.0.1:0', '--data', data])
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(data, { recursive: true, force: true })
  })
  equal(await found, true)
})

test('why names whose deletion took an object along; a refused second start changes nothing', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'kinfold-playground-audit-'))
  const { child, ended } = startKinfold(['playground', '--http', '127.0.0.1:0', '--data', data])
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(data, { recursive: true, force: true })
  })
  let printed = ''
  child.stdout?.on('data', (chunk) => {
    printed += chunk
  })
  await eventually('the banner', async () => printed.includes('Ctrl-C') || printed)
  const kubeconfig = readFileSync(join(data, 'kubeconfig'), 'utf8')
  const user = /^ {4}as: (.*)$/m.exec(kubeconfig)?.[1]
  equal(user, 'alice')
  const [, server] = /server: "(.*)"/.exec(kubeconfig)!
  const path = '/apis/apps/v1/namespaces/shop/deployments/web'
  const headers = { 'impersonate-user': 'alice', 'user-agent': 'kubectl' }
  equal((await fetch(`${server}${path}`, { method: 'DELETE', headers })).status, 200)
  const why = ['why', 'cm/web-settings', '-n', 'shop', '--cluster', 'north', '--data', data]
  await eventually('alice is named', async () => {
    const { stdout, stderr } = await runKinfold(why)
    return (
      /^Deleted .* by Kinfold, because alice \(kubectl\) deleted/.test(stdout) || stdout + stderr
    )
  })
  const bob = { 'impersonate-user': 'bob', 'user-agent': 'kubectl' }
  const cart = path.replace('web', 'cart')
  equal((await fetch(`${server}${cart}`, { method: 'DELETE', headers: bob })).status, 200)
  await eventually('bob is', async () => {
    const { stdout } = await runKinfold([...why.slice(0, 1), 'deploy/cart', ...why.slice(2)])
    return /^Deleted .* by bob/.test(stdout) || stdout
  })
  // A start that is refused leaves the kubeconfig of the one that runs.
  for (const flags of [['--http', '127.0.0.1:0'], ['--api-only']]) {
    const { code, stderr } = await runKinfold(['playground', ...flags, '--data', data])
    equal(code, 4, stderr)
    match(stderr, /in use by another process/)
    equal(readFileSync(join(data, 'kubeconfig'), 'utf8'), kubeconfig)
  }
  const deletions = ['deletions', '-A', '--by', 'alice', '--data', data]
  match((await runKinfold(deletions)).stdout, /deployment\.apps\/web/)
})
