/** The rules of the policy as people and programs read them, and the orders about one. */
import { deepEqual, equal, match, throws } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Event } from '../../core/model/event.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { GraphGroup, tell } from '../../testing/rig/graph-group.ts'
import { codec, eventsOf } from '../../testing/rig/task-rig.ts'
import { mustAsk } from './rules.ts'

const STORY = [
  'rule old rs 10 label:keep=no',
  'put rs/a [label:keep=no created:100]',
  'put pod/1 <- rs/a',
  'put rs/b [label:keep=yes]',
  'put rs/later [label:keep=no created:5000]',
]

type Kinfold = (...args: readonly string[]) => ReturnType<typeof runKinfold>

async function started(t: TestContext, story: readonly string[]): Promise<Kinfold> {
  const group = new GraphGroup(1)
  const { url } = await group.start()
  t.after(async () => await group.stop())
  const events = eventsOf(story)
  const settled = events.findIndex(({ type }) => type === 'CommandSettled')
  const cut = settled < 0 ? events.length : settled
  await tell(group.log, events.slice(0, cut))
  await group.caughtUp()
  await tell(group.log, await Promise.all(events.slice(cut).map((each) => known(group, each))))
  await group.caughtUp()
  return async (...args) => {
    const ran = await runKinfold([...args, '--server', url])
    await group.caughtUp()
    return ran
  }
}

/** A result is that of the command of this log: the story has one of its own. */
async function known({ log }: GraphGroup, event: Event): Promise<Event> {
  if (event.type !== 'CommandSettled') return event
  const { entries } = await log.read('commands', 0, 0n, { limit: 1_000, waitMs: 0 })
  const ids = entries.flatMap(({ value }) => {
    const record = value === null ? undefined : codec.decode(value)
    const isMeant = record !== undefined && 'target' in record && record.target.uid === event.uid
    return isMeant ? [record.id] : []
  })
  return { ...event, command: ids.at(-1) ?? 'none' }
}

test('rules are listed, planned and explained', async (t) => {
  const kinfold = await started(t, STORY)
  equal(
    (await kinfold('rules', 'list')).stdout,
    `NAME   MODE      CLUSTER   MATCHED   DUE   HELD   DELETING   LATER   NEXT                   UNREAD
old    dry run   test      2         1     1      0          1       1970-01-01T01:23:30Z   0
`,
  )
  const { stdout: plan } = await kinfold('rules', 'plan', 'old')
  equal(
    plan.replace(/--digest \w+/, '--digest D'),
    `Rule old in cluster test: ReplicaSets (apps), 10 s after they are created, with label keep=no.
It is in dry run: it deletes nothing.
2 objects matched, 1 due; 1 held by rule; 1 later, the next at 1970-01-01T01:23:30Z.
1 dependent of those listed would be deleted along.

NAMESPACE   OBJECT             DUE                    STATE          REASON
ns          ReplicaSet/a       1970-01-01T00:01:50Z   held by rule   rule old: due 10 s after it was created (1970-01-01T00:01:40Z)
ns          ReplicaSet/later   1970-01-01T01:23:30Z   later          rule old: due 10 s after it was created (1970-01-01T01:23:20Z)

To enforce it: kinfold rules enforce old --digest D --why …
`,
  )
  equal((await kinfold('rules', 'plan', 'old', '-o', 'name')).stdout, 'replicaset.apps/a\n')
  const { stdout: kept } = await kinfold('rules', 'explain', 'old', 'replicaset/b', '-n', 'ns')
  match(kept, /^ReplicaSet\/b -n ns: the rule is not about it$/m)
  match(kept, /^no +with label keep=no +yes$/m)
  const { stdout: due } = await kinfold('rules', 'explain', 'old', 'replicaset/a', '-n', 'ns')
  match(due, /^ReplicaSet\/a -n ns: due since 1970-01-01T00:01:50Z$/m)
  const json = JSON.parse((await kinfold('rules', 'list', '-o', 'json')).stdout)
  deepEqual([json.kind, json.rules[0].clusters[0].counts.due], ['RuleList', 1])
})

test('a rule that annotates is planned and explained as one', async (t) => {
  const kinfold = await started(t, [
    'rule mark rs 10 annotate:example.com/stale=yes',
    'put rs/a [created:100]',
    'put pod/1 <- rs/a',
  ])
  const { stdout: plan } = await kinfold('rules', 'plan', 'mark')
  equal(
    plan.replace(/--digest \w+/, '--digest D'),
    `Rule mark in cluster test: ReplicaSets (apps), 10 s after they are created; annotated with example.com/stale="yes", and not deleted.
It is in dry run: it annotates nothing.
It would annotate what is due with example.com/stale="yes", and deletes nothing.
1 object matched, 1 due; 1 held by rule.

NAMESPACE   OBJECT         DUE                    STATE          REASON
ns          ReplicaSet/a   1970-01-01T00:01:50Z   held by rule   rule mark: due 10 s after it was created (1970-01-01T00:01:40Z)

To enforce it: kinfold rules enforce mark --digest D --why …
`,
  )
  const { stdout: due } = await kinfold('rules', 'explain', 'mark', 'replicaset/a', '-n', 'ns')
  match(
    due,
    /^It would annotate what is due with example\.com\/stale="yes", and deletes nothing\.$/m,
  )
  match(due, /^yes +without annotation example\.com\/stale="yes"/m)
  match(due, /^Verdict: annotate\. rule mark: due/m)
  const { stdout: why } = await kinfold('why', 'replicaset/a', '-n', 'ns')
  match(why, /^Verdict: annotate\. rule mark: due/m)
})

test('an object whose time came, and that a condition keeps, is not called due', async (t) => {
  const kinfold = await started(t, ['rule last rs 0 keep:1', 'put rs/a', 'put rs/b'])
  const { stdout: plan } = await kinfold('rules', 'plan', 'last', '-o', 'name')
  const kept = plan === 'replicaset.apps/a\n' ? 'b' : 'a'
  const { stdout } = await kinfold('rules', 'explain', 'last', `replicaset/${kept}`, '-n', 'ns')
  match(stdout, /^ReplicaSet\/\w -n ns: not due, since a term does not hold$/m)
  match(stdout, /^no +beyond the newest 1 of the cluster/m)
})

test('before a rule that is over its limit is enforced, it is said what that releases', async (t) => {
  const many = Array.from({ length: 5 }, (_, at) => `put rs/m${at} [created:1]`)
  const kinfold = await started(t, ['rule few rs 10 namespace:ns limit:2', ...many])
  const { stderr, stdout } = await kinfold('rules', 'enforce', 'few', '--why', 'x')
  match(`${stdout}${stderr}`, /over its limit: [^;]+; to enforce it releases all of that\.$/m)
})

test('a plan has as many pages as its limit takes', async (t) => {
  const many = Array.from({ length: 620 }, (_, at) => `put cm/m${at} [created:${at}]`)
  const kinfold = await started(t, ['rule all cm 1', ...many])
  const names = async (limit: string) =>
    (await kinfold('rules', 'plan', 'all', '-o', 'name', '--limit', limit)).stdout.split('\n')
  equal(new Set(await names('1000')).size, 621)
  equal((await names('510')).length, 511)
})

test('where there is no such rule, or none, that is said', async (t) => {
  const kinfold = await started(t, STORY)
  for (const words of [['plan'], ['explain'], ['enforce', '--why', 'x']]) {
    const [command = '', ...more] = words
    const { code, stderr } = await kinfold('rules', command, 'new', ...more)
    deepEqual([code, stderr], [2, 'error: the policy has no rule new; rules: old\n'])
  }
  const none = await started(t, ['put cm/a'])
  equal((await none('rules', 'list')).stdout, 'The policy has no rules.\n')
})

test('an order is about the rule that was shown', async (t) => {
  const kinfold = await started(t, STORY)
  const other = await kinfold(...['rules', 'enforce', 'old', '--why', 'x', '--digest', 'abc'])
  equal(other.code, 3)
  match(other.stderr, /rule old is another than the one with digest abc/)
  match(other.stdout, /^Cluster test: 2 objects matched, 1 due; 1 held by rule;/m)
  const unasked = await kinfold('rules', 'enforce', 'old', '--why', 'x')
  equal(unasked.code, 2)
  match(unasked.stderr, /"kinfold rules enforce old --digest \w+ --why …"/)
})

test('a rule of an object of the cluster has its name, and is enforced by kubectl', async (t) => {
  const kinfold = await started(t, [
    ...['rule old rs 10', 'serve cleanup', 'relist cleanup'],
    ...['put-policy cleanup/tmp in shop = cm 60', 'put cm/a in shop', 'put cm/b', 'beat 120'],
  ])
  const { stdout: list } = await kinfold('rules', 'list')
  match(list, /^old +dry run +test +0 +0 /m)
  match(list, /^shop\/tmp +dry run +test +1 +1 +1 /m)
  const { stdout: scoped } = await kinfold('rules', 'list', '-n', 'ns', '-o', 'name')
  equal(scoped, 'old\n')
  const how =
    /kubectl annotate -n shop cleanuppolicies\.kinfold\.dev tmp --overwrite kinfold\.dev\/enforce=[0-9a-f]{32}\n$/
  const { stdout: plan } = await kinfold('rules', 'plan', 'shop/tmp')
  match(plan, /^shop +ConfigMap\/a .* held by rule/m)
  match(plan, how)
  const { stdout: due } = await kinfold('rules', 'explain', 'shop/tmp', 'configmap/a', '-n', 'shop')
  match(due, /^ConfigMap\/a -n shop: due since /m)
  const enforced = await kinfold('rules', 'enforce', 'shop/tmp')
  equal(enforced.code, 0)
  match(enforced.stdout, how)
  const suspended = await kinfold('rules', 'suspend', 'shop/tmp')
  equal(suspended.code, 2)
  match(
    suspended.stderr,
    /its annotation decides: kubectl annotate -n shop .* kinfold\.dev\/enforce-$/m,
  )
  const { stderr } = await kinfold('rules', 'plan', 'shop/other')
  equal(stderr, 'error: the policy has no rule shop/other; rules: old\n')
})

test('of what a rule deleted, why and deletions name the rule, the facts and who enforced it', async (t) => {
  const kinfold = await started(t, [
    ...['rule old rs 10', 'put rs/a', 'put rs/later [created:5000]', 'beat 30'],
    ...['enforce-rule old', 'settle rs/a done', 'delete rs/a'],
  ])
  const said =
    /by Kinfold, by rule old: due 10 s after it was created \(1970-01-01T00:00:00Z\); enforced by ann: test/
  const { stdout: why } = await kinfold('why', 'replicaset/a', '-n', 'ns')
  match(why, new RegExp(`^Deleted .* ${said.source}\\.$`, 'm'))
  const listed = await kinfold('deletions', '-A', '--evidence', 'rule')
  match(listed.stdout, said)
})

test('why says which rule would delete it, and that the rule is in dry run', async (t) => {
  const kinfold = await started(t, STORY)
  const { stdout } = await kinfold('why', 'replicaset/a', '-n', 'ns')
  match(
    stdout,
    /^Verdict: delete\. rule old: due 10 s after it was created \(1970-01-01T00:01:40Z\)\. /m,
  )
  match(
    stdout,
    /^Held by rule: rule old is in dry run; "kinfold rules enforce old --why …" ends that/m,
  )
})

test('a rule is enforced, deletes, and is suspended again', async (t) => {
  const kinfold = await started(t, STORY)
  const enforced = await kinfold('rules', 'enforce', 'old', '--why', 'seen', '--yes')
  equal(enforced.code, 0, enforced.stderr)
  match((await kinfold('rules', 'list')).stdout, /^old +enforced +test +2 +1 +0 +1 /m)
  match((await kinfold('rules', 'plan', 'old')).stdout, /^Enforced by .* \(seen\) since /m)
  const suspended = await kinfold('rules', 'suspend', 'old')
  equal(suspended.code, 0, suspended.stderr)
  match((await kinfold('rules', 'list')).stdout, /^old +dry run /m)
})

test('a person is asked, unless that was said, or the rule is named by its digest', () => {
  equal(mustAsk({}, true, 'old', 'd'), true)
  equal(mustAsk({ yes: true }, true, 'old', 'd'), false)
  equal(mustAsk({ digest: 'd' }, false, 'old', 'd'), false)
  throws(() => mustAsk({}, false, 'old', 'd'), /--digest d/)
})
