/**
 * A command's class is the one furthest down among its references: each other claim has to be
 * verified as if it were alone.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { CLAIM, deleteObject } from '../../testing/rig/reaper.ts'
import { DEFAULT_REAPER_CONFIG as BOUNDS } from './config.ts'
import { claimsToProve } from './decide/gate.ts'

const gone = { ...CLAIM, name: 'gone', claim: 'absent' } as const
const waits = { ...CLAIM, name: 'waits', claim: 'waiting' } as const

test('looks at an owner that was seen to go, beside one that waits, when the cluster may have been restored unseen', () => {
  const command = deleteObject({ evidence: 'waiting', owners: [gone, waits] })
  deepEqual(claimsToProve(command, { newsMs: 0, isUnbroken: false }, BOUNDS), [gone, waits])
})
