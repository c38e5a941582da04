/**
 * What axe-core finds wrong with a page as it is shown: nothing may be, and nothing may stick out
 * of the window.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Found {
  readonly violations: readonly {
    readonly id: string
    readonly help: string
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
  }[]
  readonly passes: readonly unknown[]
}

/** A line for each rule that is broken, with an element. */
export async function violations(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE)
  const { violations: found, passes } = (await page.evaluate('axe.run(document)')) as Found
  if (passes.length < 10) return [`axe looked at almost nothing: ${passes.length} rules passed`]
  const lines = found.map(
    ({ id, nodes }) => `${id}: ${nodes[0]?.html}: ${nodes[0]?.failureSummary}`,
  )
  const [shown, room] = (await page.evaluate(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  )) as [number, number]
  return shown > room ? [...lines, `the page is ${shown} wide, and the window ${room}`] : lines
}
