/**
 * Every text of ours that names a `kinfold` command names one that there is, with flags that it
 * takes (C7, C18).
 *
 * What must stay true: hints are found in the sources themselves, so a new one is covered, or the
 * test fails.
 *
 * Not here: what a hint does in the state that prints it (cli/e2e/hint.test.ts).
 */
import { deepEqual, ok } from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Command } from 'commander'
import { createProgram } from '../cli/program.ts'
import { hintsInSources, VALUE } from '../testing/hint.ts'

/** Undefined where it is fine. */
function faultOf(program: Command, command: string): string | undefined {
  const words = command.replaceAll(VALUE, ' ').split(/\s+/).filter(Boolean)
  let meant = program
  for (const word of words) {
    const next = meant.commands.find((each) => each.name() === word)
    if (next === undefined) break
    meant = next
  }
  if (meant === program) return 'no such command'
  const flags = words.filter((each) => /^--?[a-z]/.test(each))
  const known = meant.options.flatMap(({ short, long }) => [short, long])
  const unknown = flags.filter((each) => !known.includes(each.replace(/[.:]$/, '')))
  return unknown.length === 0 ? undefined : `it takes no ${unknown.join(', ')}`
}

let program: Command
before(async () => {
  program = await createProgram()
})

test('each command that a text of ours names is one, with flags that it takes', () => {
  const all = hintsInSources()
  ok(all.length > 40, `${all.length} hints are found`)
  const faults = all.flatMap(({ file, command }) => {
    const fault = faultOf(program, command)
    return fault === undefined ? [] : [`${file}: kinfold ${command}: ${fault}`]
  })
  deepEqual(faults, [])
})

test('a hint that does not work is noticed', () => {
  for (const wrong of ['resumee --why …', 'resume --cluser x --why …', 'held --why x']) {
    ok(faultOf(program, wrong), wrong)
  }
  deepEqual(faultOf(program, 'resume --cluster north --why …'), undefined)
})
