/**
 * The page of an owner of very many dependents, in a real Chromium: how long until its first rows
 * are painted, how many are in the document, and what a key costs when all are loaded.
 *
 * What must stay true: the graph, its endpoint and the page are those of a service; time is taken
 * in the browser, from the start of the navigation to the frame after the first rows.
 */
import type { Browser, Page } from 'playwright-core'
import { openPage, startBrowser } from '../testing/browser/browser.ts'
import { GraphGroup, tell } from '../testing/rig/graph-group.ts'
import { eventsOf } from '../testing/rig/task-rig.ts'
import type { Report } from './rig/report.ts'
import { machine, median, rounded } from './rig/report.ts'

export interface PageOptions extends Readonly<Record<string, number>> {
  readonly dependents: number
  readonly rounds: number
}

/** In the browser: when the first rows are there, and the frame with them is over. */
const NOTED = `
  new MutationObserver((_, observer) => {
    if (document.querySelectorAll('[role=treeitem]').length < 10) return
    observer.disconnect()
    requestAnimationFrame(() => setTimeout(() => { window.paintedMs = performance.now() }))
  }).observe(document, { childList: true, subtree: true })`

const PAINTED = `new Promise((done) => {
  const look = () => (window.paintedMs === undefined ? requestAnimationFrame(look) : done(window.paintedMs))
  look()
})`

/** A key, until the frame after it. */
const KEY = `new Promise((done) => {
  const from = performance.now()
  const tree = document.querySelector('[role=tree]')
  tree.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp', bubbles: true }))
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - from)))
})`

export async function benchPage(options: PageOptions): Promise<Report> {
  const { dependents, rounds } = options
  const group = new GraphGroup(1)
  const browser = await startBrowser()
  try {
    const { url } = await group.start()
    await tell(group.log, eventsOf(['put rs/web', `many ${dependents} pod/p# <- rs/web`]))
    await group.caughtUp()
    const at = `${url}/#/object?${new URLSearchParams({ cluster: 'test', uid: 'rs-web' })}`
    const painted: number[] = []
    for (let round = 0; round < rounds; round++) painted.push(await paintedMs(browser, at))
    const whole = await allLoaded(browser, at)
    return {
      bench: 'page',
      options,
      machine: machine(),
      tables: [
        {
          title: `An owner of ${dependents} dependents`,
          columns: ['', ''],
          rows: [
            ['first rows painted, median ms', rounded(median(painted))],
            ['the slowest, ms', rounded(Math.max(...painted))],
            ['rows in the document at first', whole.firstRows],
            ['all loaded, ms', rounded(whole.loadedMs)],
            ['rows in the document then', whole.rows],
            ['a key then, median ms', rounded(median(whole.keyMs), 1)],
          ],
        },
      ],
      measured: { painted, ...whole },
    }
  } finally {
    await browser.close()
    await group.stop()
  }
}

/** With an empty cache, as a user who comes for the first time. */
async function paintedMs(browser: Browser, url: string): Promise<number> {
  const { page } = await openPage(browser, 'about:blank')
  await page.addInitScript(NOTED)
  await page.goto(url)
  const ms = Number(await page.evaluate(PAINTED))
  await page.context().close()
  return ms
}

async function allLoaded(
  browser: Browser,
  url: string,
): Promise<{ firstRows: number; loadedMs: number; rows: number; keyMs: readonly number[] }> {
  const { page } = await openPage(browser, url)
  const tree = page.getByRole('tree')
  await tree.waitFor()
  const firstRows = await rowsIn(page)
  await tree.focus()
  const from = performance.now()
  const status = page.getByRole('status').first()
  while (!/^[\d,]+ direct dependents$/.test((await status.textContent()) ?? '')) {
    await page.keyboard.press('End')
    await page.evaluate('new Promise((done) => requestAnimationFrame(done))')
  }
  const loadedMs = performance.now() - from
  await page.keyboard.press('End')
  const keyMs: number[] = []
  for (let keys = 0; keys < 20; keys++) keyMs.push(Number(await page.evaluate(KEY)))
  const rows = await rowsIn(page)
  await page.context().close()
  return { firstRows, loadedMs, rows, keyMs }
}

async function rowsIn(page: Page): Promise<number> {
  return await page.getByRole('treeitem').count()
}
