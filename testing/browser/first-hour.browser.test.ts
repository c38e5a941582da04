/**
 * The page in a real Chromium, at what a first hour met (docs/inside/first-hour.md): who deleted
 * it, what is live, what is said of what is unknown.
 *
 * What must stay true: each test is named after its row; nothing of the page is replaced by a
 * double.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { after, before, suite, type TestContext, test } from 'node:test'
import type { Browser, Locator } from 'playwright-core'
import { auditEvent, eventList } from '../audit-event.ts'
import { GraphGroup, tell } from '../rig/graph-group.ts'
import { eventsOf } from '../rig/task-rig.ts'
import { missingBrowser, startBrowser, watched } from './browser.ts'
import { violations } from './violations.ts'

const skip = missingBrowser()

/** Beside upstream's collector: a user deletes the Deployment, that collector the rest. */
const BESIDE = [
  ...['policy observe parity', 'put deploy/web in shop', 'put rs/web in shop <- deploy/web'],
  ...['put pod/a in shop <- rs/web', 'put pod/b in shop <- rs/web', 'delete deploy/web in shop'],
  ...['delete rs/web in shop', 'delete pod/a in shop', 'delete pod/b in shop'],
]
const COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector'
const AGENT = 'kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/60a317e'
const SENT = [
  ['deployments', 'apps', 'deploy-web', 'alice', 'kubectl/v1.33.0'],
  ['replicasets', 'apps', 'rs-web', COLLECTOR, AGENT],
  ['pods', '', 'pod-a', COLLECTOR, AGENT],
  ['pods', '', 'pod-b', 'bob', 'kubectl/v1.33.0'],
] as const

const WAITING = [
  ...['put rs/web', 'put pod/a <- rs/web', 'put pod/b <- rs/web', 'lose rs/web', 'rollback'],
  ...['relist rs', 'relist pod'],
]

async function graphOf(t: TestContext, story: readonly string[]) {
  const group = new GraphGroup(1, 0, Date.now())
  t.after(async () => await group.stop())
  const { url } = await group.start()
  await tell(group.log, eventsOf(story))
  await group.caughtUp()
  return { url, group }
}

async function sendAudit(url: string): Promise<void> {
  const { deletions } = (await (await fetch(`${url}/v1/deletions`)).json()) as {
    deletions: readonly { uid: string; at: string }[]
  }
  const events = SENT.map(([resource, apiGroup, uid, username, userAgent]) => {
    const at = deletions.find((each) => each.uid === uid)?.at ?? ''
    const objectRef = { apiGroup, resource, namespace: 'shop', name: uid.replace(/^.*-/, ''), uid }
    return auditEvent(uid, Date.parse(at), { user: { username }, userAgent, objectRef })
  })
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(eventList(...events))
  equal((await fetch(`${url}/v1/audit-events`, { method: 'POST', headers, body })).status, 200)
}

async function valueText(slider: Locator): Promise<string> {
  return (await slider.getAttribute('aria-valuetext')) ?? ''
}

function objectLink(uid: string): string {
  return `/#/object?${new URLSearchParams({ cluster: 'c', uid })}`
}

suite('what a first hour met on the page', { skip: skip ?? false }, () => {
  let browser: Browser
  before(async () => {
    browser = await startBrowser()
  })
  after(async () => await browser?.close())

  test('C2: an object that was deleted says first who did it, what went along, and how to restore it', async (t) => {
    const { url } = await graphOf(t, BESIDE)
    await sendAudit(url)
    const page = await watched(t, browser, url + objectLink('deploy-web'), { width: 390 })
    const who = page.getByRole('region', { name: 'Who deleted it' })
    await who.getByText(/^Deleted \d+ s ago by alice \(kubectl\/v1.33.0\)\. It took /).waitFor()
    await who.getByText('It took 2 objects along.').waitFor()
    const restore = page.getByRole('region', { name: 'Restore' })
    const command = 'kinfold restore uid:deploy-web --context test'
    await restore.getByText(command, { exact: true }).waitFor()
    // Beside it the tree before, with what was deleted.
    const picture = page.getByRole('group', { name: 'Picture' })
    await picture.getByRole('link', { name: /^Deployment\/web, deleted, / }).waitFor()
    await picture.getByRole('link', { name: /^Pod\/a, deleted, too/ }).waitFor()
    const former = page.getByRole('tree', { name: 'Former dependents' })
    for (const name of ['ReplicaSet/web', 'Pod/a', 'Pod/b']) {
      await former.getByRole('link', { name }).waitFor()
    }
    deepEqual(await violations(page), [])
    // A dependent leads to the owner whose deletion took it along, and to its own former owners.
    await former.getByRole('link', { name: 'Pod/a' }).click()
    await who
      .getByText(
        /by kube-controller-manager, because alice \(.*\) deleted Deployment\/web \(inferred\)\./,
      )
      .waitFor()
    const owners = page.getByRole('tree', { name: 'Former owners' })
    await owners.getByRole('link', { name: 'ReplicaSet/web' }).waitFor()
    // What is above an object is never counted as its dependents.
    await owners.getByText('1 owner, 2 with theirs', { exact: true }).waitFor()
    // It was deleted before its dependents were.
    await owners.getByRole('link', { name: 'Deployment/web' }).waitFor()
    equal(await owners.getByText(/dependent/).count(), 0)
    await page.getByText('It had no dependents.').waitFor()
    deepEqual(await violations(page), [])
    await who.getByRole('link', { name: 'Deployment/web' }).click()
    await page.getByRole('heading', { level: 1, name: 'Deployment/web' }).waitFor()
  })

  test('C2: where no audit log tells who deleted it, nobody is named', async (t) => {
    const { url } = await graphOf(t, BESIDE)
    const page = await watched(t, browser, url + objectLink('deploy-web'))
    const who = page.getByRole('region', { name: 'Who deleted it' })
    await who.getByText(/^Deleted \d+ s ago; no audit log says by whom\. It took 3 /).waitFor()
  })

  test('C6: an object that came and left by other hands has its steps in the past of its owner', async (t) => {
    const { url } = await graphOf(t, [
      ...['put deploy/web in shop', 'put rs/one in shop <- deploy/web'],
      ...['put pod/short in shop <- rs/one', 'delete pod/short in shop', 'delete rs/one in shop'],
      'put rs/two in shop <- deploy/web',
    ])
    const past = `/#/past?${new URLSearchParams({ cluster: 'c', uid: 'deploy-web', span: 'all' })}`
    const page = await watched(t, browser, url + past)
    const slider = page.getByRole('slider')
    await slider.waitFor()
    const told: string[] = []
    await slider.focus()
    await page.keyboard.press('Home')
    await page.getByText(/^1 of \d+: /).waitFor()
    const [, count] = /^1 of (\d+): /.exec(await valueText(slider)) ?? []
    const steps = Number(count)
    for (let step = 1; step <= steps; step++) {
      await page.getByText(new RegExp(`^${step} of ${steps}: `)).waitFor()
      told.push(await valueText(slider))
      await page.keyboard.press('ArrowRight')
    }
    for (const [name, what] of [
      ['ReplicaSet/one', 'created'],
      ['Pod/short', 'created'],
      ['Pod/short', 'deleted'],
      ['ReplicaSet/one', 'deleted'],
      ['ReplicaSet/two', 'created'],
    ]) {
      ok(
        told.some((text) => text.includes(`${name}: ${what}`)),
        `${name} ${what}: ${told.join('\n')}`,
      )
    }
  })

  for (const [width, isDark] of [
    [1_280, false],
    [390, true],
  ] as const) {
    test(`C6: the slider lies over what changed when, by kind and by who deleted, in a window of ${width}`, async (t) => {
      const { url } = await graphOf(t, BESIDE)
      await sendAudit(url)
      const past = `/#/past?${new URLSearchParams({ cluster: 'c', uid: 'deploy-web' })}`
      const page = await watched(t, browser, url + past, { width, isDark })
      const lanes = page.locator('.lane')
      await lanes.first().waitFor()
      deepEqual((await lanes.locator('.kind-mark').allTextContents()).toSorted(), [
        ...['deploy', 'po', 'rs'],
      ])
      // The record is some seconds old, and the span an hour.
      equal(await lanes.locator('.gap').count(), 3)
      await page.getByText(/^not recorded: the record begins at /).waitFor()
      await page.getByText('4 created (above the lines) · 4 deleted (below)').waitFor()
      await page.getByText('deleted by a user: 2').waitFor()
      await page.getByText('deleted by another collector: 2').waitFor()
      const slider = page.getByRole('slider')
      await slider.focus()
      await page.keyboard.press('End')
      const said = page.getByRole('list', { name: 'What changed then' })
      await said.getByText(/by bob \(kubectl\/v1.33.0\)/).waitFor()
      deepEqual(await violations(page), [])
      await said.getByRole('link', { name: 'Pod/b' }).click()
      await page.getByRole('heading', { level: 1, name: 'Pod/b' }).waitFor()
    })
  }

  test('C10: where no token is wanted, no login is offered, and the flag that would want one is named', async (t) => {
    const { url } = await graphOf(t, WAITING)
    const page = await watched(t, browser, `${url}/#/held`)
    await page.getByText(/kinfold approve sha256:/).waitFor()
    await page.getByText(/only where the server wants a token \(--http-token-file\)/).waitFor()
    equal(await page.getByText('Log in').count(), 0)
  })

  test('C10: a token that the server does not know is refused at once', async (t) => {
    const group = new GraphGroup(1, 0, Date.now())
    t.after(async () => await group.stop())
    const user = { name: 'ann', uid: 'ann', groups: [], extra: {} }
    const { url } = await group.start({
      authority: {
        identify: async ({ authorization = '' }) =>
          authorization === 'Bearer right' ? user : undefined,
        may: async () => true,
      },
    })
    const page = await watched(t, browser, url)
    const main = page.getByRole('main')
    await page.getByLabel('Token').fill('wrong')
    await main.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('The server does not know this token.').waitFor()
    equal(await page.evaluate('sessionStorage.length'), 0)
    await page.getByLabel('Token').fill('right')
    await main.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('button', { name: 'Log out' }).waitFor()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  })

  test('C12: what is held, and what a search finds, is shown as it comes', async (t) => {
    const all = eventsOf(WAITING)
    const count = eventsOf(WAITING.slice(0, 2)).length
    const group = new GraphGroup(1, 0, Date.now())
    t.after(async () => await group.stop())
    const { url } = await group.start()
    await tell(group.log, all.slice(0, count))
    await group.caughtUp()
    const held = await watched(t, browser, `${url}/#/held`)
    const search = await watched(t, browser, `${url}/#/search?kind=pods`)
    await held.getByText('Nothing is held.').waitFor()
    await search.getByText('1 object found').waitFor()
    await tell(group.log, all.slice(count))
    await group.caughtUp()
    await held.getByRole('heading', { name: 'Waiting for approval in test' }).waitFor()
    await held.getByRole('link', { name: 'Pod/a' }).waitFor()
    await search.getByText('2 objects found').waitFor()
  })

  test('C13: a kind, a namespace and a view that nobody knows are said to be unknown', async (t) => {
    const { url } = await graphOf(t, ['put cm/a in shop'])
    const page = await watched(t, browser, `${url}/#/search?kind=wat`)
    const alert = page.getByRole('alert')
    await alert.getByText('no cluster that is asked serves a kind wat').waitFor()
    await page.getByText('Nothing was looked through.').waitFor()
    await page.goto(`${url}/#/diff?from=2m&kind=pots`)
    await alert.getByText('serves a kind pots; did you mean pods?').waitFor()
    await page.goto(`${url}/#/diff?from=2m`)
    await page.getByText(/1 difference: 1 added|Nothing differs/).waitFor()
    await page.goto(`${url}/#/search?namespace=nope`)
    await page.getByText('Nothing is recorded in a namespace nope.').waitFor()
    await page.goto(`${url}/#/nothing`)
    await page.getByText('There is no view "nothing" on this page').waitFor()
    await page.goto(`${url}/#/search?name=configmap/a`)
    await page.getByRole('link', { name: 'ConfigMap/a' }).waitFor()
    deepEqual(await violations(page), [])
  })

  test('one field in the head finds what was deleted, by / and by Ctrl-K', async (t) => {
    const { url } = await graphOf(t, BESIDE)
    const page = await watched(t, browser, url, { width: 390 })
    await page.getByText('Deleted in the last hour').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('pod/a')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Pod/a' }).waitFor()
    await page.goto(`${url}/#/search?gone=true&kind=pods`)
    const found = page.getByRole('group', { name: 'Objects' }).getByRole('link')
    await page.getByText('2 objects found').waitFor()
    deepEqual(await found.allTextContents(), ['Pod/b', 'Pod/a'])
    await page.getByRole('button', { name: 'By name' }).click()
    await page.getByRole('button', { name: 'By name', pressed: true }).waitFor()
    deepEqual(await found.allTextContents(), ['Pod/a', 'Pod/b'])
    await page.keyboard.press('Control+k')
    await page.keyboard.type('we')
    // A slash in a field is a letter of it.
    await page.keyboard.type('/')
    equal(await page.getByLabel('Find an object').inputValue(), 'we/')
    deepEqual(await violations(page), [])
  })

  test('C2: the first view has the deletions of the last hour, by namespace and by who deleted', async (t) => {
    const { url } = await graphOf(t, BESIDE)
    await sendAudit(url)
    const page = await watched(t, browser, url, { width: 390 })
    const hour = page.getByRole('region', { name: 'Deleted in the last hour' })
    await hour.getByText('4 objects, by namespace:').waitFor()
    await hour.getByText('a user 2: bob 1, alice 1').waitFor()
    await hour
      .getByText('another collector 2, because of deletions by alice 2 (inferred)')
      .waitFor()
    deepEqual(await violations(page), [])
    await hour.getByRole('link', { name: '2 by another collector: Deployment/web' }).click()
    await page.getByText(/^Deleted \d+ s ago by alice/).waitFor()
  })

  test('C2: a bar of the first view leads to its deletions, and a part to those by whom it is', async (t) => {
    const { url } = await graphOf(t, [...BESIDE, 'put cm/x in shop', 'delete cm/x in shop'])
    await sendAudit(url)
    const page = await watched(t, browser, url, { width: 390 })
    const hour = page.getByRole('region', { name: 'Deleted in the last hour' })
    await hour.getByRole('link', { name: 'shop', exact: true }).click()
    await page.getByText('5 deletions.').waitFor()
    const list = page.getByRole('table', { name: 'Deletions' })
    const rows = list.getByRole('row').filter({ has: page.getByRole('cell') })
    equal(await rows.count(), 5)
    // The newest first, each with who and why.
    await rows.nth(0).getByText('no audit log says by whom').waitFor()
    await rows.nth(1).getByText('bob (kubectl/v1.33.0)').waitFor()
    await rows
      .nth(2)
      .getByText(/^kube-controller-manager, because alice \(.*\) deleted/)
      .waitFor()
    await page.getByText('kinfold deletions --cluster test -n shop --since 1h').waitFor()
    deepEqual(await violations(page), [])
    await page.goBack()
    await hour.getByRole('link', { name: '2 by a user: 2 roots' }).click()
    await page.getByText('2 deletions.').waitFor()
    deepEqual((await rows.getByRole('link').allTextContents()).toSorted(), [
      ...['Deployment/web', 'Pod/b'],
    ])
  })

  test('C2: the past of what was deleted opens before that, and nothing deleted is "added"', async (t) => {
    const { url } = await graphOf(t, [...BESIDE, 'put cm/x in shop'])
    const past = `/#/past?${new URLSearchParams({ cluster: 'c', uid: 'deploy-web' })}`
    const page = await watched(t, browser, url + past)
    const then = page.getByRole('tree', { name: 'The tree then' })
    await then.getByRole('link', { name: 'Pod/a' }).waitFor()
    await page.getByText('4 differences.').waitFor()
    const differences = page.getByRole('table', { name: 'Differences' })
    equal(await differences.getByText('deleted', { exact: true }).count(), 4)
    equal(await differences.getByText('added', { exact: true }).count(), 0)
    const slider = page.getByRole('slider')
    await slider.focus()
    await page.keyboard.press('End')
    await page.getByText('Nothing: it was deleted by both moments.').waitFor()
    deepEqual(await violations(page), [])
  })

  test('C2: of a deleted namespace it is said how much it took along, and how to make it again', async (t) => {
    const { url } = await graphOf(t, [
      ...['policy observe parity', 'serve namespace', 'relist namespace', 'put namespace/tmp'],
      ...['put cm/one in tmp', 'put cm/two in tmp'],
      ...['put namespace/tmp [deleting mine]', 'delete cm/one in tmp', 'delete cm/two in tmp'],
      'delete namespace/tmp',
    ])
    const page = await watched(t, browser, url + objectLink('namespace-tmp'))
    const who = page.getByRole('region', { name: 'Who deleted it' })
    await who.getByText(/It took (at least )?2 objects along\./).waitFor()
    const restore = page.getByRole('region', { name: 'Restore' })
    await restore.getByText('kubectl create namespace tmp --context test').waitFor()
    equal(await page.getByText('kinfold restore').count(), 0)
    equal(await page.getByText('It had no dependents.').count(), 0)
    deepEqual(await violations(page), [])
    await page.getByRole('link', { name: 'What was deleted in namespace tmp' }).click()
    await page.getByText('2 deletions.').waitFor()
    await page.getByRole('link', { name: 'ConfigMap/one' }).waitFor()
  })
})
