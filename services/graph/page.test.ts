/**
 * The page over HTTP: to every client, with a policy, small, and without the address of another
 * server in it.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openToken } from '../../runtime/http/http-token.ts'
import { GraphGroup } from '../../testing/rig/graph-group.ts'
import { PAGE_FILES } from './page.ts'

const MOST_PACKED = 60 * 1024

async function served(t: TestContext): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-page-'))
  const file = join(folder, 'token')
  writeFileSync(file, 'a-token-of-the-file\n', { mode: 0o600 })
  const group = new GraphGroup(1)
  t.after(async () => {
    await group.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return (await group.start({ token: openToken(file) })).url
}

test('the page is shown to who shows no token, and answers are not', async (t) => {
  const url = await served(t)
  for (const [path, { type }] of Object.entries(PAGE_FILES)) {
    const answer = await fetch(url + path)
    deepEqual([answer.status, answer.headers.get('content-type')], [200, type], path)
  }
  for (const path of ['/v1/clusters', '/openapi.json', '/page.js/../metrics']) {
    equal((await fetch(url + path)).status, 401, path)
  }
  equal((await fetch(url, { method: 'POST' })).status, 401)
  const authorization = 'Bearer a-token-of-the-file'
  equal((await fetch(url, { method: 'POST', headers: { authorization } })).status, 405)
})

test('a browser may load and ask nothing but this server, and may not be made to show it', async (t) => {
  const url = await served(t)
  for (const path of Object.keys(PAGE_FILES)) {
    const { headers } = await fetch(url + path)
    const policy = headers.get('content-security-policy') ?? ''
    match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; /)
    match(policy, /base-uri 'none'; form-action 'none'; frame-ancestors 'none'/)
    ok(!/unsafe|https?:|\*/.test(policy), policy)
    equal(headers.get('x-content-type-options'), 'nosniff')
    equal(headers.get('referrer-policy'), 'no-referrer')
  }
})

test('it is at most 60 KB, names no other server, and is not sent twice', async (t) => {
  const url = await served(t)
  let packed = 0
  for (const path of Object.keys(PAGE_FILES)) {
    const raw = await fetch(url + path, { headers: { 'accept-encoding': 'identity' } })
    const text = await raw.text()
    const others = text.match(/\bhttps?:\/\/[^\s'"`)]+/g) ?? []
    deepEqual(
      others.filter((each) => !each.startsWith('http://www.w3.org/')),
      [],
      path,
    )
    const again = { 'if-none-match': raw.headers.get('etag') ?? '' }
    equal((await fetch(url + path, { headers: again })).status, 304)
    const zipped = await fetch(url + path, { headers: { 'accept-encoding': 'gzip' } })
    equal(zipped.headers.get('content-encoding'), 'gzip')
    equal(await zipped.text(), text)
    packed += Number(zipped.headers.get('content-length'))
  }
  ok(packed > 10_000 && packed <= MOST_PACKED, `${packed} bytes`)
})
