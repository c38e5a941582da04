/** Every story in core/scenarios is told again and must come out as it is written. */
import { equal } from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { retell } from '../testing/story.ts'

const folder = new URL('./scenarios/', import.meta.url)

for (const name of readdirSync(folder).sort()) {
  test(`story ${name.replace('.txt', '').replaceAll('-', ' ')}`, () => {
    const file = new URL(name, folder)
    const written = readFileSync(file, 'utf8')
    const told = retell(written)
    if (process.env['UPDATE'] === '1') writeFileSync(file, told)
    else equal(told, written)
  })
}
