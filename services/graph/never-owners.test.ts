/**
 * What owners that never were cost on the log and in the index of history (T10), in bytes: by
 * construction, since nothing here depends on how fast anything is but the number of commits, of
 * which each adds the position alone.
 */
import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { neverOwners } from '../../testing/rig/never-owner-rig.ts'

const FREE = 64 * 1_024
/** For each byte that was sent. */
const ON_THE_LOG = 20
const IN_THE_INDEX = 5

test('T10: 8,000 owners that never were cost 20 bytes on the log and 5 in the index for each byte sent, and 64 KiB', async (t) => {
  const { sent, log, index, store, commands } = await neverOwners(8, 1_000)
  const all = sumOf(log)
  t.diagnostic(`${sent} sent, ${all} on the log, ${index} in the index, ${store} in the store`)
  t.diagnostic(JSON.stringify(log))
  equal(commands.filter(({ type }) => type === 'DeleteObject').length, 8)
  ok(all <= FREE + ON_THE_LOG * sent, `${all} bytes on the log for ${sent}: ${JSON.stringify(log)}`)
  ok(index <= FREE + IN_THE_INDEX * sent, `${index} bytes in the index for ${sent}`)
  ok(store <= FREE + ON_THE_LOG * sent)
})

test('T10: what an owner costs does not depend on how many others its object names', async () => {
  const [few, many] = [await neverOwners(8, 100), await neverOwners(1, 800)]
  for (const costs of [few, many]) {
    equal(costs.commands.filter(({ type }) => type === 'VerifyOwner').length, 800)
  }
  const ratio = sumOf(many.log) / sumOf(few.log)
  ok(ratio <= 1.1, `one object of 800 owners costs ${ratio} of 8 with 100`)
})

test('T10: turns of the agenda that came and went within a batch leave no record', async () => {
  const { 'changelog turn': turns = 0 } = (await neverOwners(1, 800)).log
  // Each answer brought one, of 20 bytes.
  ok(turns < 20 * 400, `${turns} bytes`)
})

function sumOf(bytes: Readonly<Record<string, number>>): number {
  return Object.values(bytes).reduce((sum, each) => sum + each, 0)
}
