/** A free port belongs to one test only, though no server listens on it yet. */
import { equal } from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { freePort } from './port.ts'

/**
 * Of 12,000: taken without looking at each other, some would be the same in all but one of a
 * thousand runs, and more.
 */
const PORTS = 400

/** Says which it was given, and holds them until its input ends. */
const OTHER = `
import { freePort } from ${JSON.stringify(import.meta.resolve('./port.ts'))}
for (let taken = 0; taken < ${PORTS}; taken++) console.log(await freePort())
process.stdin.resume()
`

test('no port is given out twice, also by processes beside each other', async (t) => {
  const args = ['--input-type=module', '-e', OTHER]
  const other = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => other.kill('SIGKILL'))
  const ports: number[] = []
  const lines = createInterface({ input: other.stdout })
  lines.on('line', (line) => ports.push(Number(line)))
  for (let taken = 0; taken < PORTS; taken++) ports.push(await freePort())
  while (ports.length < 2 * PORTS) await once(lines, 'line')
  equal(new Set(ports).size, 2 * PORTS)
})
