/**
 * The page in a real Chromium over a graph in this process: very many dependents, hostile names, a
 * token, approval by two people.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { after, before, suite, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { Event } from '../../core/model/event.ts'
import type { Authority } from '../../runtime/http/authority.ts'
import { HOSTILE_NAMES } from '../hostile.ts'
import { GraphGroup, tell } from '../rig/graph-group.ts'
import { rigged } from '../rig/minute-rig.ts'
import { eventsOf } from '../rig/task-rig.ts'
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
  async identify({ authorization = '' }) {
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

  test('what changed between two moments: who deleted it, and how it was', async (t) => {
    const rig = await rigged(t)
    // Kinds are listed in the first minute.
    await rig.minute()
    const first = ['put deploy/web', 'put rs/web-1 <- deploy/web', 'put rs/web-2 <- deploy/web']
    const pods = ['put pod/a <- rs/web-1', 'put pod/b <- rs/web-1']
    const from = await rig.minute(...first, ...pods, 'put cm/gone')
    await rig.minute('put pod/b <- rs/web-2', 'put cm/new in other', 'delete cm/gone')
    await rig.minute('delete rs/web-1')
    await rig.minute('settle pod/a done', 'delete pod/a')
    const page = await watched(t, browser, rig.url)
    await page.getByRole('link', { name: 'What changed in test' }).click()
    await page.getByText('Take one of these spans').waitFor()
    await page.getByLabel('From').fill(from)
    await page.keyboard.press('Enter')
    await page.getByText('5 differences: 1 added, 3 deleted, 1 changed.').waitFor()
    const grid = page.getByRole('grid', { name: 'Differences' })
    const rows = await grid.getByRole('row').allTextContents()
    const because =
      'DeleteObject (enforce): ReplicaSet "web-1" no longer exists (the deletion was observed)'
    const told = rows
      .map((text) => text.replace(/\d+ \w+ ago \d{4}-\d\d-\d\d [\d:]+ UTC/, ' '))
      .toSorted()
    deepEqual(told, [
      'added ConfigMap/newother',
      'changed Pod/bnsowners ReplicaSet/web-1 → ReplicaSet/web-2',
      'deleted ConfigMap/gonensno audit log says by whom',
      `deleted Pod/ansby Kinfold, because ReplicaSet/web-1 was deleted; no audit log says by whom; ${because}`,
      'deleted ReplicaSet/web-1nsno audit log says by whom',
    ])
    deepEqual(await violations(page), [])
    // Pasted where another Kinfold runs on the usual port, it is about this one.
    const { origin } = new URL(page.url())
    const diff = `kinfold diff --cluster test -A --from ${from} --server ${origin}`
    await page.getByText(diff, { exact: true }).waitFor()
    await page.getByLabel('Namespace').fill('other')
    await page.getByRole('button', { name: 'Compare' }).click()
    await page.getByText('1 difference: 1 added.').waitFor()
    await page.getByText(`kinfold diff --cluster test -n other --from ${from}`).waitFor()
    await page.getByLabel('Kind').fill('pods')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing differs.').waitFor()
    await page.getByLabel('Kind').fill('nonsense')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('serves a kind nonsense').waitFor()
  })

  test('of 3,000 differences as few rows are rendered as are in sight, to the end', async (t) => {
    const first = ['put rs/web']
    const all = eventsOf([...first, 'many 3000 pod/p# <- rs/web'])
    const count = eventsOf(first).length
    const { url, group } = await graphOf(t, all.slice(0, count))
    const from = `pos:0-${(await group.log.bounds('events', 0)).end}`
    await tell(group.log, all.slice(count))
    await group.caughtUp()
    const page = await watched(t, browser, `${url}/#/diff?${new URLSearchParams({ from })}`)
    const grid = page.getByRole('grid', { name: 'Differences' })
    await page
      .getByText('1,000 differences: 1,000 added so far; more come as you scroll.')
      .waitFor()
    const counts: number[] = [await grid.getByRole('row').count()]
    await grid.focus()
    // The third page is full, and only one more says that it was the last.
    for (const loaded of ['2,000 diff', '3,000 diff', '3,000 differences: 3,000 added.']) {
      await page.keyboard.press('End')
      await page.getByText(loaded).waitFor()
      counts.push(await grid.getByRole('row').count())
    }
    await page.keyboard.press('End')
    const active = grid.locator('.active')
    equal(await active.getAttribute('aria-rowindex'), '3000')
    equal(await grid.getAttribute('aria-rowcount'), '3000')
    ok(Math.max(...counts) < 60, counts.join())
    const links = await grid.getByRole('link').allTextContents()
    equal(new Set(links).size, links.length)
    const last = (await active.getByRole('link').textContent()) ?? ''
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: last, exact: true }).waitFor()
  })

  test('moments that cannot be asked, and what is left out, are said', async (t) => {
    const first = eventsOf(['put cm/a', 'put cm/b'])
    const all = eventsOf(['put cm/a', 'put cm/b', 'delete cm/a', 'put cm/c'])
    const { url, group } = await graphOf(t, first)
    const { end } = await group.log.bounds('events', 0)
    await tell(group.log, all.slice(first.length))
    await group.caughtUp()
    const page = await watched(
      t,
      browser,
      `${url}/#/diff?${new URLSearchParams({ from: `pos:0-${end}` })}`,
    )
    // What was deleted leads to what it was.
    await page.getByText('2 differences: 1 added, 1 deleted.').waitFor()
    await page.getByRole('link', { name: 'ConfigMap/a' }).click()
    await page.getByRole('heading', { level: 1, name: 'Past of ConfigMap/a' }).waitFor()
    await page.getByRole('tree', { name: 'The tree then' }).getByText('ConfigMap/a').waitFor()
    const asked = async (from: string, to: string, sentence: string | RegExp): Promise<void> => {
      await page.goto(`${url}/#/diff?${new URLSearchParams({ from, to })}`)
      await page.getByRole('alert').getByText(sentence).waitFor()
      await page.getByText('Nothing was compared.').waitFor()
    }
    await asked(`pos:0-${end}`, 'pos:0-999999', /is not folded yet; the newest is pos:0-/)
    await asked(`pos:0-${end + 1n}`, `pos:0-${end}`, /from is later than to/)
    await asked('yesterday', '', /from/)
    await page.route('**/v1/diff?**', async (route) => {
      const answer = await route.fetch()
      const json = await answer.json()
      await route.fulfill({ json: { ...json, differences: [], partial: 'left out: 1 object' } })
    })
    await page.goto(`${url}/#/diff?${new URLSearchParams({ from: `pos:0-${end}` })}`)
    await page.getByText('This may be incomplete: left out: 1 object').waitFor()
    await page.getByText('No difference is known.').waitFor()
    equal(await page.getByText('Nothing differs').count(), 0)
    await page.unroute('**/v1/diff?**')
    group.forgetBefore(end + 1n)
    await tell(group.log, eventsOf(['put cm/d']))
    await group.caughtUp()
    await asked(`pos:0-${end}`, '', /the earliest moment is .*pos:0-/)
    deepEqual(await violations(page), [])
  })

  test('who may not see the whole graph is shown one namespace', async (t) => {
    const story = ['put rs/web', 'put pod/a <- rs/web', 'put pod/zebra in other']
    const lost = ['lose rs/web', 'rollback', 'relist rs', 'relist pod']
    const group = new GraphGroup(1, 0, Date.now())
    t.after(async () => await group.stop())
    const authority: Authority = {
      identify: EVERYBODY.identify,
      may: async ({ name }, _cluster, { verb, resource, namespace }) => {
        if (name === 'bob') return true
        return ['get', 'list'].includes(verb) && resource === 'pods' && namespace === 'ns'
      },
    }
    const { url } = await group.start({ authority, isReadingReviewed: true })
    await tell(group.log, eventsOf([...story, 'approvals 2', ...lost]))
    await group.caughtUp()
    const page = await watched(t, browser, url)
    await logIn(page, 'ann')
    const denied = /questions about many objects, to get graphs\.kinfold\.dev/
    await page.getByRole('alert').getByText(denied).waitFor()
    deepEqual(await violations(page), [])
    await page.getByRole('textbox', { name: 'Cluster' }).fill('test')
    await page.getByRole('textbox', { name: 'Namespace' }).fill('ns')
    await page.getByRole('button', { name: 'Show' }).click()
    await page.getByRole('heading', { level: 1, name: 'ns' }).waitFor()
    const held = page.getByRole('group', { name: 'Held' })
    await held.getByRole('cell', { name: 'approval', exact: true }).waitFor()
    await page.getByRole('link', { name: 'Pod/a' }).waitFor()
    await page
      .getByText(/what you may not list is left out/)
      .first()
      .waitFor()
    deepEqual(await violations(page), [])
    await page.getByLabel('Kind').fill('pods')
    await page.getByLabel('Name', { exact: true }).fill('a')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('heading', { level: 1, name: 'Pod/a' }).waitFor()
    equal(await page.getByText('zebra').count(), 0)
    // Of more than that the server's sentence is shown.
    await page.goto(`${url}/#/diff?${new URLSearchParams({ from: 'pos:0-1' })}`)
    await page.getByRole('alert').getByText(denied).waitFor()
    await page.goto(`${url}/#/namespace?cluster=test&namespace=other`)
    await page.getByRole('alert').getByText(denied).first().waitFor()
    equal(await page.getByText('Pod/zebra').count(), 0)
  })

  test('of many clusters one is found by its name', async (t) => {
    const more = Array.from({ length: 119 }, (_, each) => [`cluster site-${each}`, 'put rs/web'])
    const { url } = await graphOf(t, eventsOf(['put rs/web', ...more.flat()]))
    const page = await watched(t, browser, url)
    await page.getByText('50 of 120 shown').waitFor()
    const table = page.getByRole('table', { name: 'Clusters' })
    equal(await table.getByRole('row').count(), 51)
    await page.getByLabel('Cluster, of 120').fill(' Site-117 ')
    await page.getByText('1 of 1 shown').waitFor()
    equal(await table.getByRole('row').count(), 2)
    deepEqual(await violations(page), [])
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
    const { history } = (await (
      await fetch(`${url}/v1/why?uid=pod-a&cluster=c`, {
        headers: { authorization: 'Bearer ann-and-more-letters' },
      })
    ).json()) as { history: readonly { change: string; text: string }[] }
    const sent = history.findLast(({ change }) => change === 'command')
    match(sent?.text ?? '', /approved by user:ann and user:bob/)
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
    await page.getByRole('button', { name: 'Try again' }).click()
    await alert.waitFor({ state: 'detached' })
  })
})
