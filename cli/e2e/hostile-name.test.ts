/**
 * Names that break programs, in owner references and wherever a server takes them, through the
 * whole of Kinfold: watched, folded, stored, collected, asked about, printed and audited. Nothing
 * ends, nothing that has an owner goes, and no terminal gets to see them raw.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startPlayground } from '../../playground/playground.ts'
import { eventually } from '../../testing/eventually.ts'
import { HOSTILE_NAMES } from '../../testing/hostile.ts'
import { runKinfold, startKinfold } from '../../testing/process/kinfold-command.ts'
import { harmless, lineOf } from '../print/terminal.ts'

/** Anything but text in lines. */
const RAW = /[^\P{C}\n]/u
const LIVING = 'living'

test('hostile names end nothing, take nothing along, and reach no terminal', async (t) => {
  const directory = temporary(t)
  await using playground = await startPlayground({ directory, clusters: ['a'], workload: false })
  const maps = `${playground.servers[0]?.url}/api/v1/namespaces/default/configmaps`
  const living = (await made(maps, LIVING, [])) ?? ''
  const kept: string[] = []
  const alone: string[] = []
  for (const [i, name] of HOSTILE_NAMES.entries()) {
    const hostile = { apiVersion: 'v1', kind: 'ConfigMap', name, uid: `${name}${i}` }
    const odd = { apiVersion: name, kind: name, name, uid: name }
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: LIVING, uid: living }
    if (await made(maps, `kept-${i}`, [hostile, owner])) kept.push(`kept-${i}`)
    if (await made(maps, `odd-${i}`, [odd])) kept.push(`odd-${i}`)
    if (await made(maps, `alone-${i}`, [hostile])) alone.push(`alone-${i}`)
    // Some servers take any name, and nothing else hangs on these.
    await made(maps, name, [])
  }
  ok(kept.length > 40 && alone.length > 15, `${kept.length} and ${alone.length} were taken`)

  const data = join(directory, 'kinfold')
  const args = ['--kubeconfig', playground.kubeconfig, '--data', data, '--http', '127.0.0.1:0']
  const running = startKinfold(['up', ...args, '--mode', 'enforce', '--preset', 'parity'])
  t.after(async () => {
    running.child.kill('SIGKILL')
    await running.ended
  })
  const owner = await made(maps, 'owner', [])
  const owned = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner }
  await made(maps, 'owned', [owned])
  await eventually('the ordinary one is seen', async () => {
    const { stdout } = await runKinfold(['why', 'cm/owned', '--data', data])
    return stdout.includes('keep') || stdout
  })
  await fetch(`${maps}/owner`, { method: 'DELETE' })
  await eventually('it goes, with all that has no owner but one that nobody ever had', async () => {
    const left = await namesIn(maps)
    return !left.some((name) => name === 'owned' || alone.includes(name)) || left.join()
  })
  const left = await namesIn(maps)
  deepEqual(
    kept.filter((name) => !left.includes(name)),
    [],
  )

  for (const about of [...kept, ...alone].filter((_, i) => i % 25 === 0)) {
    for (const asked of [
      ['why', `cm/${about}`],
      ['tree', `cm/${about}`, '--owners'],
    ]) {
      const { code, stdout, stderr } = await runKinfold([...asked, '--data', data])
      equal(code, 0, stderr)
      ok(!RAW.test(stdout), JSON.stringify(stdout))
    }
  }
  const lineage = await runKinfold(['lineage', 'tail', '--no-follow', '--data', data])
  equal(lineage.code, 0, lineage.stderr)
  ok(!RAW.test(lineage.stdout))
  for (const asked of [
    ['history', '-A'],
    ['deletions', '-A', '-o', 'wide'],
  ]) {
    const { code, stdout, stderr } = await runKinfold([...asked, '--data', data])
    deepEqual([code, stderr], [0, ''])
    ok(stdout.split('\n').length > alone.length && !RAW.test(stdout), stdout.slice(0, 500))
  }
  const diff = await runKinfold(['diff', '-A', '--from', 'pos:0-1', '-o', 'wide', '--data', data])
  equal(diff.code, 1, diff.stderr)
  ok(diff.stdout.split('\n').length > alone.length && !RAW.test(diff.stdout + diff.stderr))
  running.child.kill('SIGTERM')
  equal((await running.ended).code, 0)
  const audit = await runKinfold(['audit', 'verify', '--data', data])
  equal(audit.code, 0, audit.stdout + audit.stderr)
})

test('whatever a server answers is a row for each object, escaped, and as JSON the same data', async (t) => {
  const name = '\u001b[2J\u009b31m\u202egnp\r\nConfigMap/forged -n default\u2028\ud800'
  const AT = '1970-01-01T00:00:00.000Z'
  const cluster = { name: 'c', id: 'c', scope: 'c' }
  const object = { namespace: 'n\u0007', kind: 'Secret', name, cluster, group: '' }
  const told = { ...object, agreement: 'theirs', uid: 'u', because: name, evidence: null, at: AT }
  const count = {
    ...{ cluster: { ...cluster, name, scope: name }, agreed: 0, theirs: 1, ours: 0 },
    unclear: 0,
  }
  const lags = { pending: 0, medianLagMs: null, p99LagMs: null }
  const clusters = [{ ...count, ...lags }]
  const envelope = { apiVersion: 'kinfold/v1', kind: 'Shadow', partial: '' }
  const report = { ...envelope, since: AT, mode: 'observe', patienceMs: 1, clusters, cases: [told] }
  const server = createServer((request, response) => {
    const isRefused = request.url?.startsWith('/v1/why')
    response.writeHead(isRefused ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isRefused ? { detail: name } : report))
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`

  const table = await runKinfold(['shadow', '--server', url])
  equal(table.code, 1)
  ok(!RAW.test(table.stdout), JSON.stringify(table.stdout))
  equal(table.stdout.split('\n').filter((line) => /^theirs /.test(line)).length, 1)
  ok(!table.stdout.split('\n').some((line) => line.startsWith('ConfigMap/forged')))
  const json = await runKinfold(['shadow', '--server', url, '-o', 'json'])
  ok(!RAW.test(json.stdout))
  const { cases } = JSON.parse(json.stdout) as { cases: readonly object[] }
  deepEqual(cases, [told])
  const refused = await runKinfold(['why', 'cm/a', '--server', url])
  equal(refused.code, 2)
  ok(!RAW.test(refused.stderr), JSON.stringify(refused.stderr))
})

test('what people write in any language is left as it is', () => {
  const text = 'größe 名前 имя 😀 a\tb\n'
  equal(harmless(text), text)
  equal(lineOf('a\tb\n\u{e0001}'), 'a\\u0009b\\u000a\\udb40\\udc01')
  match(lineOf('\u001b[31m'), /^\\u001b\[31m$/)
})

/** Its uid; undefined where the server does not take it. */
async function made(
  maps: string,
  name: string,
  ownerReferences: readonly object[],
): Promise<string | undefined> {
  const response = await fetch(maps, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, ownerReferences },
    }),
  })
  const body = (await response.json()) as { metadata?: { uid?: string } }
  return response.status === 201 ? body.metadata?.uid : undefined
}

async function namesIn(maps: string): Promise<string[]> {
  const { items } = (await (await fetch(maps)).json()) as {
    items: { metadata: { name: string } }[]
  }
  return items.map(({ metadata }) => metadata.name)
}

function temporary(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'kinfold-hostile-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}
