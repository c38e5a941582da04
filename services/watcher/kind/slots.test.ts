/** A bound on concurrent work. */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Slots } from './slots.ts'

const never = new AbortController().signal

test('no more than the bound work at once, and the others follow in their order', async () => {
  const slots = new Slots(2)
  const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<void>())
  const begun: number[] = []
  const all = gates.map((gate, index) =>
    slots.use(async () => {
      begun.push(index)
      await gate.promise
    }, never),
  )
  await setImmediate()
  deepEqual(begun, [0, 1])
  gates[1]?.resolve()
  await setImmediate()
  deepEqual(begun, [0, 1, 2])
  for (const gate of gates) gate.resolve()
  await Promise.all(all)
  deepEqual(begun, [0, 1, 2, 3])
})

test('a failure gives its slot back, and whoever stops waiting takes none', async () => {
  const slots = new Slots(1)
  const gate = Promise.withResolvers<void>()
  const failing = slots.use(() => gate.promise, never)
  const impatient = new AbortController()
  const waiting = slots.use(async () => 'no', impatient.signal)
  const last = slots.use(async () => 'yes', never)
  impatient.abort(new Error('enough'))
  await rejects(waiting, /enough/)
  gate.reject(new Error('broken'))
  await rejects(failing, /broken/)
  equal(await last, 'yes')
})
