/**
 * The rules on the page in a real Chromium: the list leads to the plan of each, and the plan has
 * the commands that enforce and suspend that rule.
 */
import { deepEqual, match } from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import { ruleIn } from '../model/rule-notation.ts'
import { GraphGroup, tell } from '../rig/graph-group.ts'
import { eventsOf } from '../rig/task-rig.ts'
import { missingBrowser, openPage, startBrowser } from './browser.ts'
import { violations } from './violations.ts'

const skip = missingBrowser()
const OLD = 'old rs 10 namespace:shop'
const STORY = [
  `rule ${OLD}`,
  'rule burst cm 10 limit:1',
  ...['serve cleanup', 'relist cleanup', 'put-policy cleanup/stale in shop = job 10 enforced'],
  ...['put rs/a in shop', 'put pod/1 in shop <- rs/a', 'put cm/x', 'put cm/y', 'put cm/z'],
]

suite('the rules on the page', { skip: skip ?? false }, () => {
  let browser: Browser
  before(async () => {
    browser = await startBrowser()
  })
  after(async () => await browser?.close())

  test('are listed, and each leads to its plan and its commands', async (t) => {
    const group = new GraphGroup(1, 0, Date.now())
    t.after(async () => await group.stop())
    const { url } = await group.start()
    await tell(group.log, eventsOf(STORY))
    await group.caughtUp()
    const { page, wrong } = await openPage(browser, `${url}/`)
    t.after(async () => await page.context().close())
    await page.getByRole('link', { name: 'Rules', exact: true }).click()
    const main = page.getByRole('main')
    await main.getByText('over its limit').first().waitFor()
    deepEqual(await violations(page), [])
    await main.getByRole('link', { name: 'old', exact: true }).click()
    await main.getByText('held by rule').first().waitFor()
    deepEqual(await violations(page), [])
    const text = await main.innerText()
    match(text, /ReplicaSets \(apps\), 10 s after they are created, in namespace shop\./)
    match(text, /No order enforces it as it is, so it deletes nothing\./)
    match(text, RegExp(`kinfold rules enforce old --digest ${ruleDigest(ruleIn(OLD))} --why '…'`))
    match(text, /kinfold rules suspend old/)
    await page.getByRole('link', { name: 'Rules', exact: true }).click()
    await main.getByRole('link', { name: 'shop/stale', exact: true }).click()
    await main.getByText('Enforced by its annotation.').waitFor()
    const commands = await main.innerText()
    const annotate = 'kubectl annotate -n shop cleanuppolicies.kinfold.dev stale'
    match(commands, RegExp(`${annotate} --overwrite kinfold.dev/enforce=[0-9a-f]{32}`))
    match(commands, RegExp(`${annotate} kinfold.dev/enforce-`))
    deepEqual(wrong, [])
  })
})
