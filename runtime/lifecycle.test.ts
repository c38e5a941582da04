/**
 * A signal asks for the end. The same request may arrive twice at once; a later one does not wait
 * for good order.
 */
import { deepEqual } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'

const LIFECYCLE = new URL('lifecycle.ts', import.meta.url).href
/** Sends itself signals at these times, and says how it ended. */
const PROGRAM = `
const { stopSignal } = await import('${LIFECYCLE}')
const signal = stopSignal()
for (const ms of process.argv.slice(1)) setTimeout(() => process.kill(process.pid, 'SIGINT'), Number(ms))
setTimeout(() => {
  process.stdout.write('in good order: ' + signal.reason.message)
  process.exit(0)
}, 1_200)
`

interface Ended {
  readonly code: number
  readonly stdout: string
}

async function ended(...times: readonly string[]): Promise<Ended> {
  const args = ['--input-type=module', '--eval', PROGRAM, ...times]
  return await new Promise((resolve) => {
    execFile(process.execPath, args, (error, stdout) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout })
    })
  })
}

const inGoodOrder = { code: 0, stdout: 'in good order: stopped by SIGINT' }

test('one signal, or two at once, are one request', async () => {
  deepEqual(await ended('10'), inGoodOrder)
  deepEqual(await ended('10', '20'), inGoodOrder)
})

test('a later one ends the process at once', async () => {
  deepEqual(await ended('10', '900'), { code: 130, stdout: '' })
})
