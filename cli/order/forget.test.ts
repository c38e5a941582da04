/**
 * A cluster of owners that is gone for good, as people forget it: its plan, the digest that stands
 * for a person's yes, and the way back.
 */
import { equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { GraphGroup, tell } from '../../testing/rig/graph-group.ts'
import { eventsOf } from '../../testing/rig/task-rig.ts'

const NAMES = 'annotation:kinfold.io/owner=north/example.com/Widget/team-a'
const STORY = [
  'rule far cm 0 for:3600 elsewhere:north import:widget/team-a export:widget/team-a/c',
  'enforce-rule far',
  `put cm/a [${NAMES}/app/widget-app]`,
  `put cm/b [${NAMES}/other/widget-other]`,
  'follow north',
  'elsewhere deleted north widget/app in team-a',
  'unfollow north',
]

type Kinfold = (...args: readonly string[]) => ReturnType<typeof runKinfold>

async function started(t: TestContext): Promise<Kinfold> {
  const group = new GraphGroup(1)
  const { url } = await group.start()
  t.after(async () => await group.stop())
  await tell(group.log, eventsOf(STORY))
  await group.caughtUp()
  return async (...args) => {
    const ran = await runKinfold([...args, '--server', url])
    await group.caughtUp()
    return ran
  }
}

const PLAN = `Plan: forget cluster north (north)
What names owners there stays, and is due by none of them any more, whatever is heard of it later.

Cluster test: 2 objects with an owner there
  their owners are in a cluster which is cut off: nothing is heard
  rule far: 2 objects, 1 of them due
NAMESPACE   OBJECT        OWNER                                RULE   NOW       REASON
ns          configmap/a   widget.example.com/app -n team-a     far    due       that owner was deleted (known since TIME)
ns          configmap/b   widget.example.com/other -n team-a   far    not due   whether that owner is there is not known

Digest: sha256:D
`

function plain(text: string): string {
  return text.replace(/\d{4}-[\d:T-]+Z/, 'TIME').replace(/sha256:[0-9a-f]{64}/, 'sha256:D')
}

test('a cluster is forgotten by the digest of its plan, and remembered', async (t) => {
  const kinfold = await started(t)
  const shown = await kinfold('plan', 'forget-cluster', 'north')
  equal(plain(shown.stdout), PLAN, shown.stderr)
  const [digest = ''] = /sha256:[0-9a-f]{64}/.exec(shown.stdout) ?? []
  const order = ['forget-cluster', 'north', '--why', 'dismantled']

  const asked = await kinfold(...order)
  equal(asked.code, 2)
  match(asked.stderr, /nobody can be asked, .+ nothing was ordered; add --digest/)
  const other = await kinfold(...order, '--digest', `sha256:${'0'.repeat(64)}`)
  equal(other.code, 3)
  match(other.stderr, /that digest is of something else, or of an older plan/)

  const given = await kinfold(...order, '--digest', digest)
  equal(given.code, 0, given.stderr)
  match(
    given.stdout,
    /^Forgot cluster north as one of owners of objects in cluster test, by local:\S+\. No object there is due/m,
  )
  const why = await kinfold('why', 'configmap/a', '-n', 'ns')
  match(
    why.stdout,
    /^ {2}owner Widget\/app -n team-a in cluster north, by rule far: it names an owner in cluster north, which local:\S+ had forgotten at \S+ \(dismantled\), and so it stays$/m,
  )
  const again = await kinfold(...order, '--digest', digest)
  equal(again.code, 3)
  match(again.stderr, /refused: it is forgotten already/)

  const back = await kinfold('remember-cluster', 'north', '--why', 'it is back')
  match(back.stdout, /^Remembered cluster north as one of owners .+ waits anew/)
  const none = await kinfold('remember-cluster', 'north', '--why', 'it is back')
  equal(none.code, 3)
  match(none.stderr, /cluster north is not forgotten, as far as is known: nothing was ordered/)
})

test('of a cluster in which nobody names an owner there is nothing to forget', async (t) => {
  const kinfold = await started(t)
  const { stdout } = await kinfold('plan', 'forget-cluster', 'west')
  equal(stdout, 'Plan: forget cluster west (west)\nNo object is known that names an owner there.\n')
  const refused = await kinfold('forget-cluster', 'west', '--why', 'gone')
  equal(refused.code, 3)
  match(refused.stderr, /refused: no object is known that names an owner there/)
})
