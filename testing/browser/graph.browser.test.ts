/**
 * The page in a real Chromium over a graph in this process: very many dependents, hostile names, a token, approval by two people.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { after, before, suite, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { Event } from '../../core/model/event.ts'
import type { Authority } from '../../runtime/authority.ts'
import { GraphGroup, tell } from '../graph-group.ts'
import { HOSTILE_NAMES } from '../hostile.ts'
import { eventsOf } from '../task-rig.ts'
import { missingBrowser, startBrowser, watched } from './browser.ts'
import { violations } from './violations.ts'

const skip = missingBrowser()

async function graphOf(
  t: TestContext,
  events: readonly Event[],
  authority?: Authority,
): Promise<{ readonly url: string; readonly group: GraphGroup }> {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const { url } = await group.start(authority === undefined ? {} : { authority })
  await tell(group.log, events)
  await group.caughtUp()
  return { url, group }
}

function objectLink(uid: string): string {
  return `/#/object?${new URLSearchParams({ cluster: 'c', uid })}`
}

/** A token says whose it is. */
const EVERYBODY: Authority = {
  async identify(authorization = '') {
    const [, name] = /^Bearer (ann|bob)-and-more-letters$/.exec(authorization) ?? []
    return name === undefined ? undefined : { name, uid: name, groups: [], extra: {} }
  },
  may: async () => true,
}

async function logIn(page: Page, name: string): Promise<void> {
  await page.getByLabel('Token').fill(`${name}-and-more-letters`)
  await page.getByRole('main').getByRole('button', { name: 'Log in' }).click()
}

suite('the page over a graph', { skip: skip ?? false }, () => {
  let browser: Browser
  before(async () => {
    browser = await startBrowser()
  })
  after(async () => await browser?.close())

  test('of an owner of 3,000 as few rows are rendered as are in sight, to the end', async (t) => {
    const { url } = await graphOf(t, eventsOf(['put rs/web', 'many 3000 pod/p# <- rs/web']))
    const page = await watched(t, browser, url + objectLink('rs-web'))
    const tree = page.getByRole('tree')
    await page.getByText('The first 200 direct dependents').waitFor()
    const counts: number[] = []
    const count = async (): Promise<void> => {
      counts.push(await tree.getByRole('treeitem').count())
    }
    await count()
    await tree.focus()
    // The first page of 200, then one of 2,000, then the rest.
    for (const loaded of ['The first 2,200 direct dependents', '3,000 direct dependents']) {
      await page.keyboard.press('End')
      await page.getByText(loaded, { exact: loaded.startsWith('3') }).waitFor()
      await count()
    }
    await page.keyboard.press('End')
    const active = tree.locator('.active')
    equal(await active.getAttribute('aria-posinset'), '3000')
    equal(await active.getAttribute('aria-setsize'), '3000')
    await count()
    ok(Math.max(...counts) < 60, counts.join())
    deepEqual(await violations(page), [])
  })

  test('a name is text, whatever is in it', async (t) => {
    const names = [
      ...HOSTILE_NAMES.filter((name) => name.isWellFormed() && name !== '__proto__'),
      '<img src=x onerror=alert(1)>',
      '"><script>alert(1)</script>',
      'javascript:alert(1)',
      '</title><svg onload=alert(1)>',
    ]
    const events = eventsOf(['put rs/web', `many ${names.length} pod/p# <- rs/web`])
    let at = 0
    const hostile = events.map((event): Event => {
      if (event.type !== 'ObjectAdded' || event.object.kind !== 'Pod') return event
      return { ...event, object: { ...event.object, name: names[at++] ?? '' } }
    })
    equal(at, names.length)
    const { url } = await graphOf(t, hostile)
    const page = await watched(t, browser, url + objectLink('rs-web'), { height: 2_400 })
    const tree = page.getByRole('tree')
    await page.getByText(`${names.length} direct dependents`).waitFor()
    const shown = await tree.locator('.row bdi').allTextContents()
    equal(shown.filter((text) => text.startsWith('Pod/')).length, names.length)
    ok(shown.includes('Pod/<img src=x onerror=alert(1)>'))
    equal(
      shown.some((text) => /[\p{Cc}\p{Cf}\p{Cs}]/u.test(text)),
      false,
    )
    equal(await page.locator('main script, main img').count(), 0)
    // Each leads to a page of its own object.
    for (const name of ['Pod/<img src=x onerror=alert(1)>', 'Pod/"><script>alert(1)</script>']) {
      await page.goto(url + objectLink('rs-web'))
      await tree.getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
    }
    equal(await page.locator('main script, main img').count(), 0)
  })

  test('a token is asked for, kept for this tab, and forgotten', async (t) => {
    const { url } = await graphOf(t, eventsOf(['put rs/web']), EVERYBODY)
    const page = await watched(t, browser, url)
    await page.getByText('This server answers only who shows a token').waitFor()
    deepEqual(await violations(page), [])
    await logIn(page, 'eve')
    await page.getByText('This server answers only who shows a token').waitFor()
    await logIn(page, 'ann')
    await page.getByRole('heading', { name: 'Clusters' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Clusters' }).waitFor()
    equal(await page.evaluate('localStorage.length + document.cookie.length'), 0)
    ok(!page.url().includes('ann'))
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByText('This server answers only who shows a token').waitFor()
    equal(await page.evaluate('sessionStorage.length'), 0)
  })

  test('two people approve what they were shown, each with a reason and a confirmation', async (t) => {
    const story = ['put rs/web', 'put pod/a <- rs/web', 'approvals 2', 'lose rs/web', 'rollback']
    const { url } = await graphOf(t, eventsOf([...story, 'relist rs', 'relist pod']), EVERYBODY)
    const at = `${url}/#/held`
    const opened = async (name: string): Promise<Page> => {
      const page = await watched(t, browser, at)
      await logIn(page, name)
      await page.getByRole('heading', { name: /^Waiting for approval/ }).waitFor()
      return page
    }
    const approve = async (page: Page): Promise<void> => {
      const button = page.getByRole('button', { name: /^Approve/ })
      await page.getByLabel('Reason').fill('the backup is as it should be')
      equal(await button.isDisabled(), true)
      await page.getByLabel('To confirm').fill('2 in test')
      equal(await button.isDisabled(), true)
      await page.getByLabel('To confirm').fill('1 in test')
      await button.click()
    }
    const ann = await opened('ann')
    await ann.getByText('Two people have to approve it.').waitFor()
    deepEqual(await violations(ann), [])
    await approve(ann)
    await ann.getByText(/Approved by user:ann\. This is the first of two approvals/).waitFor()
    await ann
      .getByText(/Approved by user:ann \(the backup is as it should be\), valid until/)
      .waitFor()
    await approve(ann)
    await ann.getByText('user:ann has approved it already: another person has to, too').waitFor()
    const bob = await opened('bob')
    await bob.getByText(/Approved by user:ann \(the backup is as it should be\)/).waitFor()
    await approve(bob)
    await bob.getByText(/^Approved by user:bob\. What it releases is judged again now/).waitFor()
    const { verdict } = (await (
      await fetch(`${url}/v1/why?uid=pod-a&cluster=c`, {
        headers: { authorization: 'Bearer ann-and-more-letters' },
      })
    ).json()) as { verdict: { because: string } }
    match(verdict.because, /approved by user:ann and user:bob/)
  })

  test('a set that is another by now is not approved', async (t) => {
    const story = ['put rs/web', 'put pod/a <- rs/web', 'put pod/b <- rs/web', 'lose rs/web']
    const before = eventsOf([...story, 'rollback', 'relist rs', 'relist pod'])
    const all = eventsOf([...story, 'rollback', 'relist rs', 'relist pod', 'delete pod/b'])
    const { url, group } = await graphOf(t, before, EVERYBODY)
    const page = await watched(t, browser, `${url}/#/held`)
    await logIn(page, 'ann')
    await page.getByLabel('Reason').fill('meant so')
    await page.getByLabel('To confirm').fill('2 in test')
    await tell(group.log, all.slice(before.length))
    await group.caughtUp()
    await page.getByRole('button', { name: /^Approve/ }).click()
    await page.getByText(/another set is held for approval by now/).waitFor()
  })

  test('without a token there is a command instead of a form', async (t) => {
    const story = ['put rs/web', 'put pod/a <- rs/web', 'lose rs/web', 'rollback', 'relist rs']
    const { url } = await graphOf(t, eventsOf([...story, 'relist pod']))
    const page = await watched(t, browser, `${url}/#/held`)
    await page.getByText(/kinfold approve sha256:[0-9a-f]{64} --cluster test --why/).waitFor()
    equal(await page.getByRole('button', { name: /^Approve/ }).count(), 0)
    deepEqual(await violations(page), [])
  })

  test('what was refused is not taken for an answer of nothing', async (t) => {
    const { url } = await graphOf(t, eventsOf(['put rs/web', 'put pod/a <- rs/web']))
    const page = await watched(t, browser, url)
    await page.getByText('Clusters').first().waitFor()
    await page.route('**/v1/**', (route) => route.abort())
    await page.getByText(/its state is not known just now: Kinfold cannot be reached/).waitFor()
    equal(await page.getByText('Nothing needs a person').count(), 0)
    await page.goto(`${url}/#/search`)
    await page.getByText('Nothing was looked through.').waitFor()
    equal(await page.getByText(/all 0 looked through/).count(), 0)
  })

  test('what one page of an answer lacks is said beside the next one', async (t) => {
    const { url } = await graphOf(t, eventsOf(['put rs/web', 'put pod/a <- rs/web']))
    const page = await watched(t, browser, url)
    await page.route('**/v1/objects?**', async (route) => {
      const isFirst = !route.request().url().includes('continue=')
      const answer = await route.fetch({ url: route.request().url().replace('&continue=x', '') })
      const json = { ...(await answer.json()), continue: isFirst ? 'x' : null }
      await route.fulfill({ json: isFirst ? { ...json, partial: 'pods are not listed' } : json })
    })
    await page.goto(`${url}/#/search`)
    await page.getByText(/all \d+ looked through/).waitFor()
    await page.getByText('This may be incomplete: pods are not listed').waitFor()
  })

  test('behind the path of an ingress it asks that path alone', async (t) => {
    const { url } = await graphOf(t, eventsOf(['put rs/web']))
    const page = await watched(t, browser, url)
    // The page at the root asks no more.
    await page.goto('about:blank')
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.route(`${url}/kinfold/**`, async (route) => {
      const to = route.request().url().replace('/kinfold/', '/')
      await route.fulfill({ response: await route.fetch({ url: to }) })
    })
    await page.goto(`${url}/kinfold/#/search`)
    await page.getByText(/looked through/).waitFor()
    ok(asked.includes('/kinfold/v1/objects'), asked.join())
    deepEqual(
      asked.filter((path) => !path.startsWith('/kinfold/')),
      [],
    )
  })

  test('nothing of one cascade is shown of another, and a picture is of the newest tree', async (t) => {
    const story = ['put rs/web', 'put pod/a <- rs/web', 'put rs/other', 'put pod/b <- rs/web']
    const all = eventsOf([...story, 'delete rs/web'])
    const [first, second] = [eventsOf(story.slice(0, 3)).length, eventsOf(story).length]
    const { url, group } = await graphOf(t, all.slice(0, first))
    const page = await watched(t, browser, url + objectLink('rs-web'))
    await page.getByRole('button', { name: 'Picture' }).click()
    const picture = page.getByRole('group', { name: 'Picture' })
    await picture.getByRole('link', { name: 'Pod/a' }).waitFor()
    await tell(group.log, all.slice(first, second))
    await group.caughtUp()
    await picture.getByRole('link', { name: 'Pod/b' }).waitFor()
    await tell(group.log, all.slice(second))
    await group.caughtUp()
    await page.goto(url + objectLink('rs-web').replace('object', 'cascade'))
    await page.getByRole('heading', { level: 1, name: 'Cascade of ReplicaSet/web' }).waitFor()
    await page.route('**/v1/cascade?**', (route) => route.abort())
    await page.goto(url + objectLink('rs-other').replace('object', 'cascade'))
    await page.getByText('Kinfold cannot be reached just now').waitFor()
    equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Cascade')
  })

  test('a server that cannot be reached is said to be, and what was shown stays', async (t) => {
    const { url } = await graphOf(t, eventsOf(['put rs/web', 'put pod/a <- rs/web']))
    const page = await watched(t, browser, url + objectLink('pod-a'))
    await page.getByText('Pod/a').first().waitFor()
    await page.context().setOffline(true)
    const alert = page.getByRole('alert').getByText('Kinfold cannot be reached just now')
    await alert.waitFor()
    equal(await page.getByRole('heading', { level: 1 }).textContent(), 'Pod/a')
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Ask again' }).click()
    await alert.waitFor({ state: 'detached' })
  })
})
