/**
 * Commands that take `--at` print what there was, and say of which moment. What an answer holds,
 * services/graph/query/answer/past.test.ts says.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../testing/eventually.ts'
import { runKinfold, startKinfold } from '../../testing/process/kinfold-command.ts'
import { GraphGroup, tell } from '../../testing/rig/graph-group.ts'
import { rigged } from '../../testing/rig/minute-rig.ts'
import { eventsOf } from '../../testing/rig/task-rig.ts'

test('tree, why and lineage export are as they were', async (t) => {
  const rig = await rigged(t)
  await rig.minute()
  const then = await rig.minute('put deploy/web', 'put rs/one <- deploy/web', 'put node/n')
  await rig.minute('put rs/one', 'delete deploy/web')
  const run = async (line: string): ReturnType<typeof runKinfold> =>
    await runKinfold([...line.split(' '), '--server', rig.url])

  const why = await run(`why rs.apps/one -n ns --at ${then}`.replace('rs.apps', 'replicaset'))
  deepEqual([why.code, why.stderr], [0, ''])
  const [head, state, owner] = why.stdout.split('\n')
  equal(head, `ReplicaSet/one -n ns, cluster test, uid rs-one, at ${then}`)
  deepEqual(
    [state, owner],
    ['Exists.', '  owner Deployment/web (uid deploy-web): solid: Deployment "web" exists'],
  )
  match(why.stdout, /created/)
  equal(/references/.test(why.stdout), false, why.stdout)

  const tree = await run(`tree deployment/web -n ns --at ${then}`)
  equal(tree.stdout, `Deployment/web -n ns  (cluster test; at ${then})\n└─ ReplicaSet/one -n ns\n`)

  const lines = await run(`lineage export --at ${then}`)
  deepEqual([lines.code, lines.stderr], [0, `3 objects, 1 owner reference; at ${then}\n`])
  const objects = lines.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  deepEqual(objects.map(({ name, phase, owners }) => [name, phase, ...owners]).toSorted(), [
    ['n', 'observed'],
    [
      ...['one', 'observed'],
      {
        ...{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'deploy-web' },
        ...{ controller: false, blocking: false, standing: '' },
      },
    ],
    ['web', 'observed'],
  ])
  const ofNone = await run(`lineage export -n ns --kind replicaset --at ${then} -o dot`)
  match(ofNone.stdout, /"c\/deploy-web\/Deployment\/web" -> "c\/rs-one"\n/)
  const now = await run('lineage export --kind replicaset')
  deepEqual(JSON.parse(now.stdout).owners, [])

  const { entries } = await rig.log.read('events', 0, 0n, { limit: 10_000, waitMs: 0 })
  const end = entries.find(({ timestamp }) => timestamp > Date.parse(then))?.offset ?? 0n
  await rig.forget(end + 1n)
  for (const line of [`why node/n --at ${then}`, `lineage export --at ${then}`]) {
    const { code, stdout, stderr } = await run(line)
    deepEqual([code, stdout], [4, ''], line)
    match(stderr, /the earliest moment is \S+, or pos:0-\d+/)
  }
})

test('an export that lacks something is no file that looks whole', async (t) => {
  const rig = await rigged(t)
  await rig.minute('put cm/a')
  const args = ['lineage', 'export', '--at', '2020-01-01T00:00:00Z', '--server', rig.url]
  const { code, stderr } = await runKinfold(args)
  equal(code, 1)
  match(stderr, /this may be incomplete: nothing of this cluster was recorded by then/)
})

test('a moment that no cluster can be asked about is refused, of however many', async (t) => {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start()
  const run = async (line: string): ReturnType<typeof runKinfold> =>
    await runKinfold([...line.split(' '), '--server', url])
  const none = await run('held --at 2026-01-31T09:00:00Z')
  deepEqual([none.code, none.stdout], [0, 'Nothing was held: no cluster was ever seen.\n'])

  await tell(group.log, eventsOf(['put cm/a', 'cluster d', 'put cm/a']))
  await group.caughtUp()
  const lines = ['get cm', 'get cm a', 'get cm -o json', 'held', 'lineage export']
  for (const line of lines) {
    const { code, stdout, stderr } = await run(`${line} --at 2099-01-01T00:00:00Z`)
    deepEqual([code, stdout], [4, ''], line)
    match(stderr, /nothing of cluster test was recorded after 2099-01-01T00:00:00.000Z yet/, line)
  }
})

test('the newest rows are found from the end on, however old they are, and all where fewer are there', async (t) => {
  const rig = await rigged(t)
  for (const name of ['a', 'b', 'c', 'd']) await rig.minute(`put cm/${name}`)
  for (const name of ['a', 'b', 'c']) await rig.minute(`delete cm/${name}`)
  for (let quiet = 20; quiet > 0; quiet--) await rig.minute(`put pod/p${quiet}`)
  const until = await rig.minute('put pod/last')
  const names = async (line: string): Promise<string[]> => {
    const more = ['--until', until, '-n', 'ns', '-o', 'json', '--server', rig.url]
    const args = [...line.split(' '), ...more]
    const { code, stdout, stderr } = await runKinfold(args)
    deepEqual([code, stderr], [0, ''], line)
    const { changes, deletions } = JSON.parse(stdout)
    return (changes ?? deletions).map(({ name }: { readonly name: string }) => name)
  }
  deepEqual(await names('deletions --tail 2'), ['b', 'c'])
  deepEqual(await names('history --change created,gone --tail 1'), ['p1'])
  deepEqual(await names('deletions --tail 99'), ['a', 'b', 'c'])
  deepEqual(await names('deletions --tail 2 --since 2026-01-31T09:07:00Z'), ['c'])
  for (const flags of ['--limit 3', '--tail 0']) {
    const line = `deletions -A --tail 2 ${flags} --server ${rig.url}`
    equal((await runKinfold(line.split(' '))).code, 2, flags)
  }
})

test('with -w the list of deletions goes on with each that comes, once, until it is stopped (C18)', async (t) => {
  const rig = await rigged(t)
  await rig.minute('put deploy/web', 'put rs/one <- deploy/web', 'put cm/a', 'put cm/b', 'put cm/c')
  await rig.minute('delete cm/a', 'delete cm/b')
  const asked = {
    all: ['-n', 'ns', '--tail', '1', '-o', 'json'],
    cascade: ['-n', 'ns', '--cascade', 'deployment/web', '-o', 'name'],
    table: ['configmaps', '-A', '--by', 'others', '--since', '1000d'],
    elsewhere: ['-n', 'other', '-o', 'yaml'],
  }
  const watching = Object.entries(asked).map(([name, words]) => {
    const running = startKinfold(['deletions', ...words, '-w', '--server', rig.url])
    t.after(() => running.child.kill('SIGKILL'))
    const said = { name, text: '', running }
    running.child.stdout?.on('data', (chunk) => {
      said.text += chunk
    })
    return said
  })
  const [all, cascade, table] = watching
  const named = (text = ''): readonly string[] =>
    text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).name]))
  await eventually(
    'the newest is listed',
    async () => named(all?.text).join() === 'b' || `${all?.text}`,
  )
  await eventually('all of the kind are', async () => /configmap\/b/.test(table?.text ?? ''))

  await rig.minute('delete cm/c')
  await eventually('it has come', async () => named(all?.text).join() === 'b,c' || `${all?.text}`)
  await eventually('in the other, too', async () => /configmap\/c/.test(table?.text ?? ''))
  await rig.minute('delete deploy/web', 'delete rs/one')
  await eventually('those two have', async () => named(all?.text).length === 4 || `${all?.text}`)
  await eventually('the cascade has', async () => cascade?.text.split('\n').length === 3)
  deepEqual(named(all?.text), ['b', 'c', 'web', 'one'])
  equal(cascade?.text, 'deployment.apps/web\nreplicaset.apps/one\n')

  for (const { running } of watching) running.child.kill('SIGINT')
  for (const { name, text, running } of watching) {
    const { stdout, stderr } = await running.ended
    const warned = stderr.replace(/^warning: this may be incomplete: nothing is known of .*\n/, '')
    deepEqual([warned, running.child.signalCode, stdout], ['', 'SIGINT', text], name)
    if (name === 'elsewhere') equal(stdout, '')
  }
  deepEqual(
    table?.text.match(/configmap\/\w|TIME/g),
    ['TIME', 'configmap/a', 'configmap/b', 'configmap/c'],
    table?.text,
  )
})

test('what is followed has no end, and where to go on is asked for alone', async (t) => {
  const rig = await rigged(t)
  await rig.minute('put cm/a', 'delete cm/a')
  for (const flags of ['--limit 3', '--until 1h']) {
    const line = `deletions -A -w ${flags} --server ${rig.url}`
    const { code, stderr } = await runKinfold(line.split(' '))
    equal(code, 2)
    match(stderr, /-w goes on for ever: it takes no --(limit|until)/)
  }
  const { status, detail } = await rig.refused('/v1/deletions?from=0-0&since=2026-01-31T09:00:00Z')
  deepEqual([status, detail], [400, 'from says where to go on: it takes no since and no until'])
  const beyond = await rig.refused('/v1/deletions?from=0-9999')
  deepEqual(beyond.status, 400)
})
