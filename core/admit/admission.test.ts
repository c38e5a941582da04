/**
 * A hold changes no verdict: what is judged is the same before it, under it and after it, and
 * history has each change of what holds it.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'
import { factsOf } from '../graph/facts.ts'
import { admissionOf } from '../model/node.ts'

const POD = 'pod-a'

function lived(...steps: readonly string[]) {
  const world = new World()
  world.begin()
  const told: string[] = []
  const verdicts = new Set<string>()
  for (const line of steps) {
    const outcomes = world.events(line).flatMap((event) => world.folder.fold(event, world.now))
    for (const { change, uid, text, admission } of outcomes.flatMap(({ history }) => history)) {
      if (change !== 'verdict' || uid !== POD) continue
      told.push(admission?.by ?? '-')
      verdicts.add(text)
    }
  }
  return { world, told, verdicts: [...verdicts] }
}

const FAMILY = ['policy enforce guarded', 'put rs/x', 'put pod/a <- rs/x']

test('its verdict is that of the deletion from first to last, and each hold is told', () => {
  const { told, verdicts } = lived(...FAMILY, 'pause', 'delete rs/x', 'resume', 'beat 31')
  deepEqual(told, ['-', 'pause', 'hold', '-'])
  deepEqual(verdicts, ['keep: ReplicaSet "x" exists', 'delete: ReplicaSet "x" no longer exists'])
})

test('what would only lose a reference is no deletion, whatever holds it', () => {
  const { world } = lived(
    'policy enforce guarded',
    ...['put rs/x', 'put rs/y', 'put pod/a <- rs/x, rs/y'],
    ...['lose rs/x', 'relist rs'],
  )
  const node = factsOf(world.folder.graph, 'c').node(POD)
  equal(node?.verdict?.type, 'drop')
  equal(node && admissionOf(node)?.by, 'hold')
})

test('what a dry run was accepted of is held by the mode', () => {
  const attempt = { state: 'would-go', since: 7 } as const
  const because = 'mode dry-run only has the server check it'
  const { world } = lived('policy dry-run parity', 'put rs/x', 'put pod/a <- rs/x', 'delete rs/x')
  const node = factsOf(world.folder.graph, 'c').node(POD)
  if (node?.attempt == null) throw new Error('a dry run is sent')
  equal(admissionOf(node), null)
  const accepted = { hold: null, attempt: { ...node.attempt, ...attempt } }
  deepEqual(admissionOf(accepted), { by: 'mode', because, since: 7, until: null })
})
