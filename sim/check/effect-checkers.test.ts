/** A case that no world has: a decision of an earlier epoch of a cluster is noticed (I8). */
import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import type { Control } from '../../ports/record/service-record.ts'
import { deleteObject } from '../../testing/rig/reaper.ts'
import { draw } from '../options.ts'
import { WholeWorld } from '../world.ts'
import { CHECKERS } from './checkers.ts'
import { effectCheckers } from './effect-checkers.ts'

const checker = effectCheckers.find(({ invariant }) => invariant.startsWith('I8'))
const UID = 'u-1'
const LATER_MS = 5_000

function rig() {
  const world = new WholeWorld(draw(1, []), CHECKERS)
  const site = world.sites[0]!
  const by = 'a test'
  return {
    epoch(number: number): void {
      const about = { cluster: site.id, who: '', why: '' }
      const control: Control = {
        ...{ type: 'Control', verb: 'epoch', ...about },
        ...{ kind: null, number, connected: true, protection: null, mode: null },
      }
      const records = [{ key: `cluster/${site.id}`, value: world.codec.encode(control) }]
      checker?.appended?.(world, { topic: 'control', partition: 0, records, by })
    },
    command(clusterEpoch: number): void {
      const command = deleteObject({ cluster: site.id, clusterEpoch })
      const value = world.codec.encode({ ...command, target: { ...command.target, uid: UID } })
      checker?.appended?.(world, {
        ...{ topic: 'commands', partition: 0, by },
        records: [{ key: '', value }],
      })
    },
    sentAt(sentMs: number): string {
      const request = {
        method: 'DELETE',
        path: '/',
        headers: {},
        body: null,
        purpose: 'write',
      } as const
      const acting = { request, registration: site.name, by, sentMs }
      const before = { metadata: { uid: UID } } as ApiObject
      const seen = { world, site, truth: world.truthOf(site), acting, sent: null }
      return checker?.effect?.({ ...seen, before, after: null }) ?? 'nobody looks'
    },
  }
}

test('a command of an epoch that is over is noticed, and none of the one that is', () => {
  const it = rig()
  it.epoch(1)
  it.command(1)
  equal(it.sentAt(LATER_MS), '')
  it.epoch(2)
  match(it.sentAt(LATER_MS), /^decided in epoch 1, and 2 began at .* \(I8\)$/)
  equal(it.sentAt(1_000), '', 'nobody can know of it at once')
  it.command(2)
  equal(it.sentAt(LATER_MS), '', 'it was decided anew')
})
