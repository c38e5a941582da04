/**
 * Shows that `kinfold up` may be killed at any moment of a cascade: all garbage goes, nothing else
 * does, and the log tells it all. `node scripts/kills.ts` does the same with more kills.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { killDuringCascade } from '../../scripts/kills.ts'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { startControlPlane } from '../../testing/cluster/control-plane.ts'

const KILLS = 5
const DEPENDENTS = 1_500
const SEED = 2_603

const skip = missingServers('etcd', 'kube-apiserver')

test('kill -9 at 5 moments of a cascade loses nothing', { skip: skip ?? false }, async (t) => {
  await using plane = await startControlPlane()
  const report = await killDuringCascade({
    plane,
    data: join(plane.folder, 'kinfold'),
    kills: KILLS,
    dependents: DEPENDENTS,
    seed: SEED,
    say: (line) => t.diagnostic(line),
  })
  const { leftAtKills, garbageLeft, wronglyGone, unsettled, audit } = report
  equal(leftAtKills.length, KILLS)
  ok(
    leftAtKills.some((left) => left > 0 && left < DEPENDENTS),
    'no kill came in the middle of it',
  )
  equal(garbageLeft, 0)
  deepEqual(wronglyGone, [])
  deepEqual(unsettled, [])
  equal(audit.code, 0, audit.text)
  ok(audit.text.includes('identical'), audit.text)
})
