/** Colours: on a terminal only, and none that a name brings along. */
import { doesNotMatch, equal, match } from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { GraphGroup, tell } from '../../testing/rig/graph-group.ts'
import { eventsOf } from '../../testing/rig/task-rig.ts'
import { paint } from './paint.ts'
import { guard, lineOf, painted } from './terminal.ts'

const MAIN = join(import.meta.dirname, '..', 'main.ts')
const ESCAPE = '\u001b'

/** What of a text arrives behind the guard. */
function written(text: string): string {
  let all = ''
  const stream = {
    write(chunk: string) {
      all += chunk
    },
  }
  guard(stream as unknown as NodeJS.WriteStream)
  stream.write(text)
  return all
}

test('what is painted gets its escapes when it is written, whatever it holds', () => {
  equal(written(`a ${painted('b', 'red')} c`), `a ${ESCAPE}[31mb${ESCAPE}[39m c`)
  const name = `x${ESCAPE}[31my`
  equal(written(painted(name, 'red')), `${ESCAPE}[31mx\\u001b[31my${ESCAPE}[39m`)
  equal(written(lineOf(`${painted('b', 'red')}${ESCAPE}`)), `${ESCAPE}[31mb${ESCAPE}[39m\\u001b`)
})

test('without a terminal nothing is painted', (t) => {
  const { isTTY } = process.stdout
  t.after(() => (process.stdout.isTTY = isTTY))
  process.stdout.isTTY = false
  equal(paint('b', 'red'), 'b')
})

const hasScript = spawnSync('script', ['--version']).error === undefined

test('a state is coloured on a terminal, unless NO_COLOR is set', {
  skip: hasScript ? false : 'there is no "script" here, which makes a terminal',
}, async (t) => {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start()
  await tell(group.log, eventsOf(['put pod/a in shop', 'delete pod/a in shop']))
  await group.caughtUp()
  const words = ['get', 'pods', '-n', 'shop', '--gone', '--server', url]
  const onTerminal = async (env: Readonly<Record<string, string>>): Promise<string> => {
    const { execFile } = await import('node:child_process')
    const command = [process.execPath, MAIN, ...words].join(' ')
    // Nothing else of the environment: Node gives a terminal no colours in CI, either, or where
    // FORCE_COLOR is 0.
    const { PATH = '', HOME = '' } = process.env
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    execFile(
      'script',
      ['-qec', command, '/dev/null'],
      { env: { PATH, HOME, TERM: 'xterm-256color', ...env } },
      (error, stdout) => (error === null ? resolve(stdout) : reject(error)),
    )
    return await promise
  }
  match(await onTerminal({}), new RegExp(`pod/a {3}${ESCAPE}\\[90mdeleted `))
  doesNotMatch(await onTerminal({ NO_COLOR: '1' }), new RegExp(ESCAPE))
  doesNotMatch((await runKinfold(words, { NO_COLOR: '' })).stdout, new RegExp(ESCAPE))
})
