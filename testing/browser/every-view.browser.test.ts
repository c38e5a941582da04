/**
 * What holds of every view of the page in a real Chromium: in a window of 390 nothing is cut,
 * nothing breaks a rule of axe-core, it leads on, and what comes is shown without being asked for.
 *
 * What must stay true: a view that is added is added here, too; nothing waits for a time, only for
 * what is shown.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { TOOLS } from '../../ports/record/manager-mark.ts'
import { withApplications } from '../rig/applications.ts'
import { GraphGroup, tell } from '../rig/graph-group.ts'
import { eventsOf } from '../rig/task-rig.ts'
import { missingBrowser, openPage, startBrowser } from './browser.ts'
import { violations } from './violations.ts'

const skip = missingBrowser()

/** As web/base/place.ts lists them, which needs the types of a browser. */
function viewsOfPage(): readonly string[] {
  const place = readFileSync(new URL('../../web/base/place.ts', import.meta.url), 'utf8')
  const [, list = ''] = /VIEWS = \[([^\]]*)\]/.exec(place) ?? []
  return [...list.matchAll(/'(\w+)'/g)].map(([, view = '']) => view)
}

/**
 * A pod is held for approval, another collects the rest, and a foreground deletion is under way.
 */
const BEFORE = [
  'rule old cm 10 not-namespace:ns',
  ...['put deploy/web in shop', 'put rs/web in shop <- deploy/web', 'put cm/old in shop'],
  ...['put rs/lost', 'put pod/held <- rs/lost', 'lose rs/lost', 'rollback', 'relist rs'],
  'relist pod',
]
const AFTER = [
  'put cm/newer in other',
  ...['put pod/new in shop <- rs/web', 'put rs/gone', 'put pod/more <- rs/gone', 'lose rs/gone'],
  ...['relist rs', 'delete cm/old in shop'],
]

/** What is there at first, and what comes. */
const WEB = { cluster: 'c', uid: 'deploy-web' }
const SEEN: Readonly<Record<string, readonly [Record<string, string>, RegExp, RegExp | null]>> = {
  home: [{}, /1 object held until a person approves/, /1 object, by namespace:/],
  search: [{ namespace: 'shop', gone: 'true' }, /^3 objects found/, /^4 objects found/],
  held: [{}, /^Pod\/held$/, null],
  rules: [{ rule: 'old', cluster: 'c' }, /^held by rule$/, /^ConfigMap\/newer$/],
  deletions: [{ cluster: 'c' }, /^Deletions$/, /ConfigMap\/old/],
  diff: [{ cluster: 'c', from: '1h' }, /differences?: /, /Pod\/new/],
  namespace: [{ cluster: 'c', namespace: 'shop' }, /^\d+ objects?, \d+ changes?\.$/, /Pod\/new/],
  object: [WEB, /1 direct dependent/, /Pod\/new/],
  plan: [WEB, /Nothing is ordered by this/, /3 deleted/],
  // Its stream ends at once, since nothing is being deleted.
  cascade: [WEB, /is not being deleted/, null],
  past: [WEB, /The tree then/, /Pod\/new/],
}

function hashOf(view: string, words: Record<string, string>): string {
  return view === 'home' ? '/#/' : `/#/${view}?${new URLSearchParams(words)}`
}

/** An Application with objects in two clusters, one of them kept by a mark. */
const MARKED = withApplications(
  eventsOf([
    ...['serve widget', 'relist widget'],
    'put widget/shop in argocd [resources-finalizer.argocd.argoproj.io]',
    ...['put deploy/web in shop [label:app=shop]', 'put pod/a in shop <- deploy/web in shop'],
    ...['cluster d', 'serve widget', 'relist widget', 'put deploy/api in shop [label:app=shop]'],
    'put cm/kept in shop [label:app=shop annotation:argocd.argoproj.io/sync-options=Delete=false]',
  ]),
)
const MARKS = { tools: TOOLS, argoInstanceLabel: 'app' }

/**
 * What is wider than its place, so that a part of it is out of sight. Trees and differences scroll
 * by themselves.
 */
async function cutIn(page: Page): Promise<unknown> {
  return await page.evaluate(
    `[...document.querySelectorAll('.scrolls, section, p, h1, h2, table, li')]
      .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0)
      .concat([...document.querySelectorAll('.row')].filter((each) => each.scrollHeight > each.clientHeight + 1))
      .map((each) => each.outerHTML.slice(0, 200))`,
  )
}

suite('every view', { skip: skip ?? false }, () => {
  let browser: Browser
  before(async () => {
    browser = await startBrowser()
  })
  after(async () => await browser?.close())

  test('is among those that are tested', () => {
    deepEqual(Object.keys(SEEN).toSorted(), viewsOfPage().toSorted())
  })

  for (const isDark of [false, true]) {
    test(`is whole, linked and live in a window of 390, ${isDark ? 'dark' : 'light'}`, async (t) => {
      const group = new GraphGroup(1, 0, Date.now())
      t.after(async () => await group.stop())
      const { url } = await group.start()
      const all = eventsOf([...BEFORE, ...AFTER])
      const count = eventsOf(BEFORE).length
      await tell(group.log, all.slice(0, count))
      await group.caughtUp()
      const look = { width: 390, height: 844, isDark }
      const open: { view: string; page: Page; wrong: readonly string[]; comes: RegExp | null }[] =
        []
      for (const [view, [words, first, comes]] of Object.entries(SEEN)) {
        const { page, wrong } = await openPage(browser, url + hashOf(view, words), look)
        t.after(async () => await page.context().close())
        await page.getByRole('main').getByText(first).first().waitFor()
        deepEqual(await violations(page), [], view)
        deepEqual(await cutIn(page), [], view)
        ok((await page.getByRole('main').getByRole('link').count()) > 0, `${view} leads nowhere`)
        open.push({ view, page, wrong, comes })
      }
      await tell(group.log, all.slice(count))
      await group.caughtUp()
      for (const { view, page, wrong, comes } of open) {
        if (comes !== null) await page.getByRole('main').getByText(comes).first().waitFor()
        deepEqual(wrong, [], view)
        await page.context().close()
      }
    })

    test(`marks of tools are whole and linked in the same, ${isDark ? 'dark' : 'light'}`, async (t) => {
      const group = new GraphGroup(1, 0, Date.now())
      t.after(async () => await group.stop())
      const { url } = await group.start({ marks: MARKS })
      await tell(group.log, MARKED)
      await group.caughtUp()
      const of = { cluster: 'c', uid: 'widget-shop' }
      for (const view of ['object', 'plan']) {
        const look = { width: 390, height: 844, isDark }
        const { page, wrong } = await openPage(browser, url + hashOf(view, of), look)
        t.after(async () => await page.context().close())
        const section = page.locator('section').filter({ hasText: 'seen by marks' })
        await section
          .getByText(/3 objects in 2 clusters bear marks of Argo CD/)
          .first()
          .waitFor()
        ok((await section.getByRole('link').count()) > 0, `${view} leads nowhere`)
        deepEqual(await violations(page), [], view)
        deepEqual(await cutIn(page), [], view)
        deepEqual(wrong, [], view)
      }
    })
  }
})
