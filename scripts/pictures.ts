/**
 * The command `npm run pictures`: the pictures of docs/page.md, of a playground and of a graph in this process, in the machine's Chromium.
 *
 * What must stay true: it shows what the page is, with nothing drawn by hand; it leaves nothing behind but the pictures.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { type Look, openPage, startBrowser } from '../testing/browser/browser.ts'
import { eventually } from '../testing/eventually.ts'
import { startKinfold } from '../testing/kinfold-command.ts'

const FOLDER = join(import.meta.dirname, '..', 'docs', 'page')
const WINDOW: Look = { width: 1_120, height: 700 }

mkdirSync(FOLDER, { recursive: true })
const data = mkdtempSync(join(tmpdir(), 'kinfold-pictures-'))
const running = startKinfold(['playground', '--data', data, '--http', '127.0.0.1:0'])
const browser = await startBrowser()
try {
  let url = ''
  await eventually('the workload is seen', async () => {
    url = (JSON.parse(readFileSync(join(data, 'http.json'), 'utf8')) as { url: string }).url
    const asked = `${url}/v1/why?cluster=north&namespace=shop&kind=deployment&name=web`
    return (await fetch(asked)).ok
  })
  const about = new URLSearchParams({ cluster: 'north', namespace: 'shop', kind: 'deployment' })
  const picture = async (
    name: string,
    hash: string,
    wait: (page: Page) => Promise<unknown>,
    look: Look = WINDOW,
  ): Promise<void> => {
    const { page } = await openPage(browser, `${url}/${hash}`, look)
    await wait(page)
    await page.screenshot({ path: join(FOLDER, `${name}.png`) })
    await page.context().close()
  }
  // A rollout, so that there is something to tell of.
  await eventually('a second ReplicaSet is there', async () => {
    const asked = `${url}/v1/objects?cluster=north&namespace=shop&kind=replicasets&gone=true`
    const { objects } = (await (await fetch(asked)).json()) as { objects: { name: string }[] }
    return objects.filter(({ name }) => name.startsWith('web-')).length > 1
  })
  await picture(
    'overview',
    '',
    async (page) => await page.getByText('enforce, parity').first().waitFor(),
  )
  const why = (await (await fetch(`${url}/v1/why?${about}&name=web`)).json()) as {
    object: { uid: string }
  }
  const web = new URLSearchParams({ cluster: 'north', uid: why.object.uid })
  const pod = async (page: Page): Promise<void> => await page.getByText('Pod/').nth(2).waitFor()
  const tree = (await (await fetch(`${url}/v1/tree?${web}`)).json()) as {
    root: { children: { kind: string; uid: string }[] }
  }
  const set = tree.root.children.find(({ kind }) => kind === 'ReplicaSet')?.uid ?? ''
  await picture('object', `#/object?${new URLSearchParams({ cluster: 'north', uid: set })}`, pod)
  await picture(
    'past',
    `#/past?${web}`,
    async (page) => {
      await page.getByRole('button', { name: 'Earlier' }).click()
      await page.getByText(/^\d+ differences?\.$/).waitFor()
    },
    { ...WINDOW, isDark: true },
  )
} finally {
  await browser.close()
  running.child.kill('SIGTERM')
  await running.ended
  rmSync(data, { recursive: true, force: true })
}
