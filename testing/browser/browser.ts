/**
 * A real Chromium for tests of the page: the machine's own, found and never fetched, and pages of
 * it that note whatever should not be.
 *
 * What must stay true: where KINFOLD_REQUIRE_SERVERS is 1, as on CI, a missing one is an error. A
 * page that asked any other server, or had an error, fails its test.
 */
import { deepEqual } from 'node:assert/strict'
import { accessSync, constants } from 'node:fs'
import type { TestContext } from 'node:test'
import { type Browser, chromium, type Page } from 'playwright-core'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Undefined where there is none. */
function findChromium(): string | undefined {
  const named = process.env['KINFOLD_CHROMIUM']
  return [...(named === undefined ? [] : [named]), ...PLACES].find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/**
 * The reason to skip a test that needs it, or undefined. Throws it where KINFOLD_REQUIRE_SERVERS is
 * 1.
 */
export function missingBrowser(): string | undefined {
  if (findChromium() !== undefined) return undefined
  const missing =
    'no Chromium: install Debian\'s package "chromium", or name one in KINFOLD_CHROMIUM'
  if (process.env['KINFOLD_REQUIRE_SERVERS'] === '1') throw new Error(missing)
  return `skipped: ${missing}`
}

export async function startBrowser(): Promise<Browser> {
  const executablePath = findChromium()
  if (executablePath === undefined) throw new Error(missingBrowser() ?? 'no Chromium')
  // Chromium has no sandbox for root, as whom CI runs.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return await chromium.launch({ executablePath, args, chromiumSandbox: args.length === 0 })
}

export interface Seen {
  readonly page: Page
  /** Addresses on any other server, errors of the page, and what its policy refused. */
  readonly wrong: readonly string[]
}

export interface Look {
  readonly width?: number
  readonly height?: number
  /** 2 is what a browser calls 200 %: half the room, twice the size. */
  readonly zoom?: number
  readonly isDark?: boolean
}

/** Its own profile: nothing of another page is in it. */
export async function openPage(browser: Browser, url: string, look: Look = {}): Promise<Seen> {
  const { width = 1280, height = 800, zoom = 1, isDark = false } = look
  const context = await browser.newContext({
    viewport: { width: Math.round(width / zoom), height: Math.round(height / zoom) },
    deviceScaleFactor: zoom,
    colorScheme: isDark ? 'dark' : 'light',
  })
  const page = await context.newPage()
  const wrong: string[] = []
  const { origin } = new URL(url)
  page.on('request', (request) => {
    const at = request.url()
    if (new URL(at).origin !== origin && !at.startsWith('data:')) wrong.push(`asks ${at}`)
  })
  page.on('pageerror', (error) => wrong.push(`fault: ${error.message}`))
  page.on('console', (message) => {
    // The answers that a test provokes are named by the browser, too.
    const isAnswer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !isAnswer) wrong.push(`console: ${message.text()}`)
  })
  page.on('dialog', (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.goto(url)
  return { page, wrong }
}

/** As `openPage`; at the end of the test nothing may be wrong with it. */
export async function watched(
  t: TestContext,
  browser: Browser,
  url: string,
  look: Look = {},
): Promise<Page> {
  const { page, wrong } = await openPage(browser, url, look)
  t.after(async () => {
    await page.context().close()
    deepEqual(wrong, [])
  })
  return page
}
