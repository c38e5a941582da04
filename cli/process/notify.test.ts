/** The section `notify`: what it accepts, and which counts of clusters are sent. */
import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { NONE_HELD } from '../../services/graph/fold/tally.ts'
import { notifyConfig } from '../config/notify-config.ts'
import { isKnownIn, noticesOf } from './notice.ts'

const QUIET = { cluster: 'u-1', held: NONE_HELD, isBreakerOpen: false }
const LOCK = { cluster: 'u-1', name: 'north', reason: 'it is not there', isRequired: false }
const named = (): string => 'north'

test('a cluster in which nothing waits has no notice', () => {
  const held = { ...NONE_HELD, mode: 12 }
  deepEqual(noticesOf([{ ...QUIET, held }], named, [{ ...LOCK, state: 'unknown' }]), [])
})

test('what waits for a person is one notice of each type', () => {
  const held = { ...NONE_HELD, approval: 1, hold: 3, pause: 2 }
  const notices = noticesOf([{ ...QUIET, held, isBreakerOpen: true }], named, [
    { ...LOCK, state: 'absent' },
  ])
  deepEqual(
    notices.map(({ type, message, command }) => [type, message, command]),
    [
      [
        'approval',
        '1 object is held until a person approves or rejects',
        'kinfold plan held --cluster north',
      ],
      [
        'breaker',
        "the cluster's breaker is open: 0 objects are held until a person closes it",
        'kinfold held --cluster north',
      ],
      ['held', 'held: 2 by pause, 3 by hold', 'kinfold held --cluster north'],
      ['lock', 'the lock is not in force: it is not there', 'kinfold doctor --context north'],
    ],
  )
})

test('a breaker of a namespace is one, too', () => {
  const held = { ...NONE_HELD, breaker: 4 }
  deepEqual(
    noticesOf([{ ...QUIET, held }], named, []).map(({ type }) => type),
    ['breaker'],
  )
})

test('nobody says that something is over of a cluster that is not here, or of a lock that is not known', () => {
  const [breaker] = noticesOf([{ ...QUIET, isBreakerOpen: true }], named, [])
  const [lock] = noticesOf([], named, [{ ...LOCK, state: 'absent' }])
  ok(breaker && lock)
  deepEqual([isKnownIn(breaker, [QUIET], []), isKnownIn(breaker, [], [])], [true, false])
  deepEqual(
    (['in force', 'unknown'] as const).map((state) => isKnownIn(lock, [], [{ ...LOCK, state }])),
    [true, false],
  )
})

test('without the section nobody is told', () => {
  equal(notifyConfig(undefined, 'kinfold.yaml'), undefined)
})

test('all is told unless some is named', () => {
  const url = 'https://example.com/hook'
  equal(notifyConfig({ url }, 'kinfold.yaml')?.on.length, 4)
  deepEqual(notifyConfig({ url, on: ['approval'] }, 'kinfold.yaml')?.on, ['approval'])
})

for (const [section, says] of [
  [[], /kinfold.yaml: notify: expected a mapping/],
  [{}, /url is missing, or events: true/],
  [{ events: true, secretFile: '/x' }, /secretFile signs what is sent to url, which is missing/],
  [{ events: 'yes' }, /events/],
  [{ url: 'example.com' }, /notify.url: expected a URL/],
  [{ url: 'ftp://example.com' }, /notify.url: expected a URL/],
  [{ url: 'https://a:b@example.com' }, /takes no user and password/],
  [{ url: 'http://example.com' }, /without TLS/],
  [{ url: 'https://example.com', on: ['all'] }, /"all" is none of approval, breaker, held, lock/],
  [{ url: 'https://example.com', secret: 'x' }, /unknown key secret/],
  [{ url: 'https://example.com', secretFile: '/nowhere' }, /\/nowhere cannot be read/],
  [{ urlFile: '/nowhere' }, /notify\.urlFile \/nowhere cannot be read/],
  [{ url: 'https://example.com', urlFile: '/nowhere' }, /urlFile: .*notify\.url is given as well/],
] as const) {
  test(`refuses ${JSON.stringify(section)}`, () => {
    throws(() => notifyConfig(section, 'kinfold.yaml'), says)
  })
}

test('an address may come from a file that no other user may read, and is in no error', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-notify-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const urlFile = join(folder, 'url')
  const url = 'https://hooks.example.com/services/a-token'
  writeFileSync(urlFile, `${url}\n`, { mode: 0o600 })
  equal(notifyConfig({ urlFile }, 'kinfold.yaml')?.webhook?.url, url)
  writeFileSync(urlFile, 'http://hooks.example.com/services/a-token')
  throws(
    () => notifyConfig({ urlFile }, 'kinfold.yaml'),
    ({ message }: Error) => /urlFile: without TLS/.test(message) && !message.includes('a-token'),
  )
  chmodSync(urlFile, 0o644)
  throws(() => notifyConfig({ urlFile }, 'kinfold.yaml'), /urlFile .*: other users may read/)
})

test('without TLS on this machine only, or where that is said', () => {
  for (const url of ['http://127.0.0.1:9/x', 'http://localhost/x', 'http://[::1]:9/x']) {
    equal(notifyConfig({ url }, 'kinfold.yaml')?.webhook?.url, url)
  }
  const url = 'http://hook.tools.svc/x'
  equal(notifyConfig({ url, insecure: true }, 'kinfold.yaml')?.webhook?.url, url)
})
