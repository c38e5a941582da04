/**
 * The page of a playground in a real Chromium: each view in both schemes and magnified, with the
 * keyboard alone, and while things happen.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { loadContexts } from '../../adapters/kubernetes/connection/kubeconfig.ts'
import { eventually } from '../eventually.ts'
import { type Running, startKinfold } from '../process/kinfold-command.ts'
import { type Look, missingBrowser, openPage, startBrowser, watched } from './browser.ts'
import { violations } from './violations.ts'

const skip = missingBrowser()

const LOOKS: readonly (readonly [string, Look])[] = [
  ['in the light scheme', {}],
  ['in the dark scheme', { isDark: true }],
  ['at 200 %', { zoom: 2 }],
  // What a window of 1,280 is at 400 %, which WCAG 2.1 (1.4.10) asks for.
  ['in a window of 320', { width: 320, height: 512 }],
]

suite('the page of a playground', { skip: skip ?? false }, () => {
  let browser: Browser
  let running: Running
  let folder = ''
  let url = ''
  let maps = ''

  const make = async (name: string, more: object = {}): Promise<string> => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...more } }
    const init = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await fetch(maps, { method: 'POST', ...init })
    equal(response.status, 201)
    return ((await response.json()) as { metadata: { uid: string } }).metadata.uid
  }
  const seen = async (uid: string): Promise<void> =>
    await eventually(`${uid} is seen`, async () => {
      const { status } = await fetch(`${url}/v1/why?cluster=north&uid=${uid}`)
      return status === 200 || `${status}`
    })

  /** Once it can be asked. */
  const momentNow = async (): Promise<string> => {
    const moment = new Date().toISOString()
    await eventually('it is over', async () => {
      const asked = `${url}/v1/diff?cluster=north&from=${moment}&to=${moment}`
      const { status } = await fetch(asked)
      return status === 200 || `${status}`
    })
    return moment
  }

  before(async () => {
    browser = await startBrowser()
    folder = mkdtempSync(join(tmpdir(), 'kinfold-page-'))
    running = startKinfold(['playground', '--data', folder, '--http', '127.0.0.1:0'])
    await eventually('it is ready', async () => {
      url = (JSON.parse(readFileSync(join(folder, 'http.json'), 'utf8')) as { url: string }).url
      return (await fetch(`${url}/readyz`)).ok
    })
    const [north] = loadContexts({ kubeconfig: join(folder, 'kubeconfig'), contexts: ['north'] })
    maps = `${north?.server}/api/v1/namespaces/default/configmaps`
    await eventually('the workload is seen', async () => {
      const asked = `${url}/v1/why?cluster=north&namespace=shop&kind=deployment&name=cart`
      return (await fetch(asked)).ok
    })
  })
  after(async () => {
    await browser?.close()
    running?.child.kill('SIGTERM')
    await running?.ended
    rmSync(folder, { recursive: true, force: true })
  })

  test('nothing is wrong with any view, however it is looked at', async (t) => {
    const from = await momentNow()
    const owner = await make('viewed')
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'viewed', uid: owner }
    const finalizers = ['example.com/kept']
    await make('viewed-too', { ownerReferences: [reference], finalizers })
    await seen(owner)
    const about = new URLSearchParams({ cluster: 'north', uid: owner })
    const views: readonly (readonly [string, string | RegExp])[] = [
      ['', 'Nothing needs a person.'],
      ['#/search?cluster=north&namespace=shop', 'looked through.'],
      // Half a minute after a report is made its rule, which is in dry run, holds it.
      ['#/held', /^(Nothing is held|\d+ objects?)\.$/],
      ['#/rules', 'old-summaries'],
      ['#/diff?cluster=north', 'Take one of these spans'],
      [`#/diff?${new URLSearchParams({ cluster: 'north', from })}`, /^\d+ differences?: .*added/],
      ['#/namespace?cluster=north&namespace=default', /^\d+ objects?, \d+ changes?\.$/],
      [`#/object?${about}`, '1 direct dependent'],
      [`#/past?${about}`, 'The tree then'],
      ['#/deletions?since=1h', 'What was deleted'],
      [`#/plan?${about}`, 'Nothing is ordered by this.'],
      [`#/cascade?${about}`, 'is not being deleted'],
    ]
    for (const [how, look] of LOOKS) {
      for (const [hash, text] of views) {
        await t.test(`${hash.replace(/\?.*/, '') || 'the first screen'} ${how}`, async () => {
          const opened = await openPage(browser, `${url}/${hash}`, look)
          await opened.page.getByText(text).first().waitFor()
          const found = await violations(opened.page)
          await opened.page.context().close()
          deepEqual([...opened.wrong, ...found], [])
        })
      }
    }
  })

  test('all of it can be had with the keyboard alone', async (t) => {
    const page = await watched(t, browser, url)
    await page.getByText('Nothing needs a person.').waitFor()
    const focused = async (): Promise<string> =>
      String(
        await page.evaluate(
          'document.activeElement.textContent.trim() || document.activeElement.name',
        ),
      )
    const tabTo = async (text: string): Promise<void> => {
      for (let tabs = 0; tabs < 30; tabs++) {
        await page.keyboard.press('Tab')
        if ((await focused()) === text) return
      }
      throw new Error(`${text} cannot be reached`)
    }
    await tabTo('Skip to the content')
    await tabTo('Search')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Search' }).waitFor()
    await tabTo('kind')
    await page.keyboard.type('deployments')
    await tabTo('name')
    await page.keyboard.type('car')
    await page.keyboard.press('Enter')
    await page.getByText('2 objects found').waitFor()
    await tabTo('Deployment/cart')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Deployment/cart' }).waitFor()
    const tree = page.getByRole('tree')
    await tree.getByText('Pod/').first().waitFor()
    await page.keyboard.press('Tab')
    while ((await page.evaluate('document.activeElement.getAttribute("role")')) !== 'tree') {
      await page.keyboard.press('Tab')
    }
    const active = async (): Promise<string> => {
      const id = await tree.getAttribute('aria-activedescendant')
      return (await page.locator(`[id="${id}"] bdi`).textContent()) ?? ''
    }
    equal(await active(), 'Deployment/cart')
    const rows = await tree.getByRole('treeitem').count()
    await page.keyboard.press('ArrowLeft')
    await eventually('it is closed', async () => (await tree.getByRole('treeitem').count()) === 1)
    await page.keyboard.press('ArrowRight')
    await eventually('it is open', async () => (await tree.getByRole('treeitem').count()) === rows)
    await page.keyboard.press('ArrowRight')
    await eventually('the next is active', async () => /^ConfigMap\//.test(await active()))
    const name = await active()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name }).waitFor()
    await tabTo('Past')
    await page.keyboard.press('Enter')
    const slider = page.getByRole('slider')
    await slider.waitFor()
    await slider.focus()
    await page.keyboard.press('Home')
    await eventually('it is at the first change', async () => {
      const text = (await slider.getAttribute('aria-valuetext')) ?? ''
      return /: created, /.test(text) || text
    })
  })

  test('a cascade is followed until it is over', async (t) => {
    const owner = await make('going')
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'going', uid: owner }
    const blocking = { ...reference, blockOwnerDeletion: true }
    for (const at of [1, 2, 3]) await make(`going-${at}`, { ownerReferences: [blocking] })
    const finalizers = ['example.com/kept']
    const last = await make('going-last', { ownerReferences: [blocking], finalizers })
    await seen(last)
    const options = JSON.stringify({ propagationPolicy: 'Foreground' })
    const headers = { 'content-type': 'application/json' }
    await fetch(`${maps}/going`, { method: 'DELETE', headers, body: options })
    await eventually('it is going', async () => {
      return (await fetch(`${url}/v1/cascade?cluster=north&uid=${owner}`)).ok
    })
    const page = await watched(t, browser, `${url}/#/object?cluster=north&uid=${owner}`)
    await page.getByRole('link', { name: 'Cascade' }).click()
    await page.getByText('3 done, 1 remaining').waitFor()
    await page.getByRole('link', { name: 'ConfigMap/going-last' }).first().waitFor()
    deepEqual(await violations(page), [])
    const body = JSON.stringify({ metadata: { finalizers: null } })
    const merge = { 'content-type': 'application/merge-patch+json' }
    await fetch(`${maps}/going-last`, { method: 'PATCH', headers: merge, body })
    await page.getByText('4 done, 0 remaining. It is over.').waitFor()
  })

  test('the slider shows the tree as it was, and what is different now', async (t) => {
    const owner = await make('lived')
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'lived', uid: owner }
    const short = await make('lived-shortly', { ownerReferences: [reference] })
    await seen(short)
    await fetch(`${maps}/lived-shortly`, { method: 'DELETE' })
    const long = await make('lived-on', { ownerReferences: [reference] })
    await seen(long)
    const asked = `${url}/v1/changes?cluster=north&namespace=default&change=created`
    await eventually('it is indexed', async () =>
      (await (await fetch(asked)).text()).includes(long),
    )
    const page = await watched(t, browser, `${url}/#/past?cluster=north&uid=${owner}`)
    const slider = page.getByRole('slider')
    await slider.waitFor()
    await slider.focus()
    await page.keyboard.press('Home')
    const then = page.getByRole('tree', { name: 'The tree then' })
    await page.getByText(/^1 of \d+: /).waitFor()
    const said = page.getByRole('list', { name: 'What changed then' })
    await said.getByRole('link', { name: 'ConfigMap/lived', exact: true }).waitFor()
    await page.getByRole('link', { name: 'ConfigMap/lived-on' }).waitFor()
    equal(await then.getByRole('treeitem').count(), 1)
    const different = page.getByRole('region', { name: 'Different now' })
    match((await different.textContent()) ?? '', /addedConfigMap\/lived-on/)
    match(page.url(), /at=pos%3A0-\d+/)
    // Of two moments: the first one, and that of the dependent that is in the tree still.
    await page.getByRole('button', { name: 'Compare others with this moment' }).click()
    await slider.focus()
    // What came and left in between has its steps, too.
    const told: string[] = []
    for (let step = 2; !/ConfigMap\/lived-on: created, /.test(told.at(-1) ?? ''); step++) {
      await page.keyboard.press('ArrowRight')
      await page.getByText(new RegExp(`^${step} of \\d+: `)).waitFor()
      told.push((await slider.getAttribute('aria-valuetext')) ?? '')
    }
    match(told.join(), /ConfigMap\/lived-shortly: deleted, /)
    const from = page.getByRole('region', { name: /^Different at pos:0-\d+$/ })
    await from.getByText('removed').waitFor()
    match((await from.textContent()) ?? '', /removedConfigMap\/lived-on/)
    // The same two moments of all of its namespace.
    await page.getByRole('link', { name: 'What changed in namespace default between' }).click()
    await page.getByRole('heading', { level: 1, name: 'What changed' }).waitFor()
    match(page.url(), /namespace=default&from=pos%3A0-\d+&to=pos%3A0-\d+$/)
    const grid = page.getByRole('grid', { name: 'Differences' })
    await grid.getByRole('row', { name: /^added .* ConfigMap\/lived-on / }).waitFor()
    equal(await grid.getByText('ConfigMap/lived-shortly').count(), 0)
  })

  test('a picture has each object of the tree, as a link', async (t) => {
    const about = new URLSearchParams({
      cluster: 'north',
      kind: 'deployment',
      name: 'cart',
      namespace: 'shop',
    })
    const page = await watched(t, browser, `${url}/#/object?${about}`)
    await page.getByRole('button', { name: 'Picture' }).click()
    const picture = page.getByRole('group', { name: 'Picture' })
    await picture.getByRole('link', { name: 'Deployment/cart' }).waitFor()
    await picture
      .getByRole('link', { name: /^Pod\/cart-/ })
      .first()
      .waitFor()
    deepEqual(await violations(page), [])
  })

  test('a search says what it looked through, and an object that was deleted has its reason', async (t) => {
    const page = await watched(
      t,
      browser,
      `${url}/#/search?cluster=north&namespace=default&gone=true`,
    )
    await page.getByRole('link', { name: 'ConfigMap/lived-shortly' }).click()
    await page.getByRole('heading', { level: 1, name: 'ConfigMap/lived-shortly' }).waitFor()
    const history = page.getByRole('region', { name: 'Why: what happened' })
    await history.getByText('deleted', { exact: true }).waitFor()
    match((await history.textContent()) ?? '', /created.*\d+-\d+/s)
  })
})
