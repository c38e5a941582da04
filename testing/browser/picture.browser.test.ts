/**
 * Pictures of trees and plans in a real Chromium: what is drawn, by mouse, touch and keyboard, and
 * of how much.
 *
 * What must stay true: nothing of the page is replaced by a double; what is asserted of a picture
 * is what a person sees in it.
 */
import { deepEqual, equal, notEqual, ok } from 'node:assert/strict'
import { after, before, suite, type TestContext, test } from 'node:test'
import type { Browser, Locator, Page } from 'playwright-core'
import { eventually } from '../eventually.ts'
import { GraphGroup, tell } from '../rig/graph-group.ts'
import { eventsOf } from '../rig/task-rig.ts'
import { missingBrowser, startBrowser, watched } from './browser.ts'
import { violations } from './violations.ts'

const skip = missingBrowser()

const SHOP = [
  ...['put deploy/web in shop', 'put deploy/other in shop', 'put rs/web in shop <- deploy/web'],
  ...['put pod/a in shop <- rs/web', 'put pod/b in shop <- rs/web'],
  'put cm/shared in shop <- deploy/web, deploy/other',
]

async function graphOf(t: TestContext, story: readonly string[]) {
  const group = new GraphGroup(1, 0, Date.now())
  t.after(async () => await group.stop())
  const { url } = await group.start()
  await tell(group.log, eventsOf(story))
  await group.caughtUp()
  return { url, group }
}

function linkTo(view: string, uid: string): string {
  return `/#/${view}?${new URLSearchParams({ cluster: 'c', uid })}`
}

function pictureIn(page: Page): Locator {
  return page.getByRole('group', { name: 'Picture' })
}

async function boxOf(locator: Locator): Promise<{ x: number; y: number; width: number }> {
  const box = await locator.boundingBox()
  ok(box !== null)
  return box
}

suite('pictures', { skip: skip ?? false }, () => {
  let browser: Browser
  before(async () => {
    browser = await startBrowser()
  })
  after(async () => await browser?.close())

  for (const [width, isDark] of [
    [1_280, false],
    [390, true],
  ] as const) {
    test(`a plan is a picture beside its list, in a window of ${width}`, async (t) => {
      const { url, group } = await graphOf(t, SHOP)
      const look = { width, isDark }
      const page = await watched(t, browser, url + linkTo('plan', 'deploy-web'), look)
      const picture = pictureIn(page)
      // By words and signs, not by colour alone.
      for (const [name, sign] of [
        [/^Deployment\/web, deleted, .*4 dependents$/, '✕'],
        [/^Pod\/a, deleted/, '✕'],
        [/^ConfigMap\/shared, kept/, '✓'],
      ] as const) {
        const box = picture.getByRole('link', { name })
        equal(await box.locator('.sign').textContent(), sign)
      }
      await page.getByText('✕ 4 deleted').waitFor()
      await page.getByText('✓ 1 kept').waitFor()
      const list = page.getByRole('group', { name: 'Planned objects' })
      await list.getByRole('link', { name: 'ConfigMap/shared' }).waitFor()
      deepEqual(await violations(page), [])
      // Live: what comes is in the picture and in the list.
      await tell(group.log, eventsOf([...SHOP, 'put pod/new in shop <- rs/web']).slice(-1))
      await group.caughtUp()
      await picture.getByRole('link', { name: /^Pod\/new, deleted/ }).waitFor()
      await list.getByRole('link', { name: 'Pod/new' }).waitFor()
      await page.getByLabel('orphan').check()
      await picture
        .getByRole('link', { name: /^ReplicaSet\/web, kept, without this owner/ })
        .waitFor()
      await picture.getByRole('link', { name: /^Pod\/a, not touched/ }).waitFor()
      await picture.getByRole('link', { name: 'Pod/a' }).press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Pod/a' }).waitFor()
    })
  }

  test('of a plan for 5,000 objects few are drawn, and all are counted', async (t) => {
    const { url } = await graphOf(t, ['put rs/web', 'many 5000 pod/p# <- rs/web'])
    const page = await watched(t, browser, url + linkTo('plan', 'rs-web'))
    const picture = pictureIn(page)
    await picture.getByText('4,990 more Pod', { exact: true }).waitFor()
    await page.getByText('11 of 5,001 objects are drawn; the others are counted').waitFor()
    equal(await picture.getByRole('link').count(), 11)
    await picture.getByRole('link', { name: /^ReplicaSet\/web, deleted, / }).waitFor()
  })

  test('a picture is moved and enlarged by mouse, wheel, buttons and keyboard', async (t) => {
    const { url } = await graphOf(t, SHOP)
    const page = await watched(t, browser, url + linkTo('plan', 'deploy-web'))
    const picture = pictureIn(page)
    const root = picture.getByRole('link', { name: /^Deployment\/web/ })
    await root.waitFor()
    const fitted = await boxOf(root)
    const { x, y } = await boxOf(picture)
    // A drag moves it, and opens no link although it begins on one.
    await page.mouse.move(fitted.x + 20, fitted.y + 10)
    await page.mouse.down()
    await page.mouse.move(fitted.x + 60, fitted.y + 40, { steps: 4 })
    await page.mouse.up()
    const dragged = await boxOf(root)
    deepEqual(
      [dragged.x, dragged.y].map(Math.round),
      [fitted.x + 40, fitted.y + 30].map(Math.round),
    )
    await page.getByRole('heading', { level: 1, name: 'Plan: delete Deployment/web' }).waitFor()
    // The wheel enlarges what is under the pointer.
    await page.mouse.move(x + 100, y + 100)
    await page.mouse.wheel(0, -100)
    await eventually('it is larger', async () => (await boxOf(root)).width > fitted.width)
    equal(await page.evaluate('scrollY'), 0)
    await page.getByRole('button', { name: 'Fit all of it' }).click()
    await eventually('it is as large as before', async () => {
      return Math.round((await boxOf(root)).width) === Math.round(fitted.width)
    })
    await page.getByRole('button', { name: 'Zoom out' }).click()
    await eventually('it is smaller', async () => (await boxOf(root)).width < fitted.width - 5)
    await picture.focus()
    await page.keyboard.press('0')
    await page.keyboard.press('+')
    await eventually('it is larger', async () => (await boxOf(root)).width > fitted.width + 5)
    const before = await boxOf(root)
    await page.keyboard.press('ArrowRight')
    await eventually('it moved', async () => Math.round(before.x - (await boxOf(root)).x) === 60)
    // Whatever has the focus is in sight.
    for (let at = 0; at < 5; at++) await page.keyboard.press('-')
    for (let at = 0; at < 12; at++) await page.keyboard.press('+')
    for (let at = 0; at < 40; at++) await page.keyboard.press('ArrowRight')
    const frame = await picture.boundingBox()
    const pod = picture.getByRole('link', { name: /^ReplicaSet\/web/ })
    await pod.focus()
    await eventually('it is in sight', async () => {
      const at = await boxOf(pod)
      return at.x >= frame!.x - 1 && at.x < frame!.x + frame!.width
    })
  })

  test('a picture is moved by touch in a window of 390', async (t) => {
    const { url } = await graphOf(t, SHOP)
    const page = await watched(t, browser, url + linkTo('plan', 'deploy-web'), { width: 390 })
    const picture = pictureIn(page)
    const root = picture.getByRole('link', { name: /^Deployment\/web/ })
    await root.waitFor()
    await picture.scrollIntoViewIfNeeded()
    const devtools = await page.context().newCDPSession(page)
    const touch = async (type: string, ...touchPoints: { x: number; y: number; id?: number }[]) => {
      await devtools.send('Input.dispatchTouchEvent', { type: type as 'touchStart', touchPoints })
    }
    const before = await boxOf(root)
    const { x, y } = await boxOf(picture)
    await touch('touchStart', { x: x + 200, y: y + 60 })
    for (const by of [10, 20, 40]) await touch('touchMove', { x: x + 200 - by, y: y + 60 })
    await touch('touchEnd')
    await eventually('it moved', async () => Math.round(before.x - (await boxOf(root)).x) === 40)
    const [left, right] = [
      { x: x + 100, y: y + 60, id: 0 },
      { x: x + 160, y: y + 60, id: 1 },
    ]
    await touch('touchStart', left)
    await touch('touchStart', left, right)
    for (const by of [20, 40, 60]) await touch('touchMove', left, { ...right, x: right.x + by })
    await touch('touchEnd')
    await eventually('it is twice as large', async () => {
      const { width } = await boxOf(root)
      return Math.abs(width - 2 * before.width) < 5 || `${width} of ${before.width}`
    })
  })

  test('a tree has the kind, the age and the number of dependents of each object', async (t) => {
    const { url } = await graphOf(t, SHOP)
    const page = await watched(t, browser, url + linkTo('object', 'deploy-web'), { width: 390 })
    const tree = page.getByRole('tree')
    const row = tree.getByRole('treeitem').first()
    await row.getByText('2 dependents, 4 with theirs').waitFor()
    equal(await row.locator('.kind-mark').textContent(), 'deploy')
    notEqual(await row.locator('time').getAttribute('datetime'), null)
    await page.getByRole('button', { name: 'Picture' }).click()
    const root = pictureIn(page).getByRole('link', { name: /^Deployment\/web, \d+ \w+, 4 dep/ })
    equal(await root.locator('.kind').textContent(), 'deploy')
    deepEqual(await violations(page), [])
  })
})
