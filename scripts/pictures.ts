/**
 * The command `npm run pictures`: the pictures of docs/start/page.md, of a playground and of a
 * graph in this process, in the machine's Chromium.
 *
 * What must stay true: it shows what the page is, with nothing drawn by hand; it leaves nothing
 * behind but the pictures.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { type Look, openPage, startBrowser } from '../testing/browser/browser.ts'
import { eventually } from '../testing/eventually.ts'
import { startKinfold } from '../testing/process/kinfold-command.ts'
import { GraphGroup, tell } from '../testing/rig/graph-group.ts'
import { eventsOf } from '../testing/rig/task-rig.ts'

const FOLDER = join(import.meta.dirname, '..', 'docs', 'start', 'page')
const WINDOW: Look = { width: 1_280, height: 800 }
/** A telephone at night. */
const NARROW: Look = { width: 390, height: 844, isDark: true }

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
  const begun = new Date().toISOString()
  // A rollout, so that there is something to tell of.
  await eventually('a second ReplicaSet is there', async () => {
    const asked = `${url}/v1/objects?cluster=north&namespace=shop&kind=replicasets&gone=true`
    const { objects } = (await (await fetch(asked)).json()) as { objects: { name: string }[] }
    return objects.filter(({ name }) => name.startsWith('web-')).length > 1
  })
  const why = (await (await fetch(`${url}/v1/why?${about}&name=web`)).json()) as {
    object: { uid: string }
  }
  const web = new URLSearchParams({ cluster: 'north', uid: why.object.uid })
  const pod = async (page: Page): Promise<void> => {
    await page.getByRole('tree').getByText('Pod/').first().waitFor()
  }
  await picture('object', `#/object?${web}`, pod)
  await picture(
    'past',
    `#/past?${web}`,
    async (page) => {
      await page.getByRole('button', { name: 'Earlier' }).click()
      await page.getByText(/^\d+ differences?\.$/).waitFor()
    },
    { ...WINDOW, isDark: true },
  )
  const planned = async (page: Page): Promise<void> => {
    await page
      .getByRole('link', { name: /^Pod\/.*, deleted/ })
      .first()
      .waitFor()
  }
  await picture('plan', `#/plan?${web}`, planned)
  await picture('plan-narrow', `#/plan?${web}`, planned, NARROW)
  const changes = new URLSearchParams({ cluster: 'north', namespace: 'shop', from: begun })
  await picture('changes', `#/diff?${changes}`, async (page) => {
    await page.getByText(/^\d+ differences: .*deleted/).waitFor()
  })
  // Last: the rollout has deleted something by then.
  let gone = ''
  await eventually('a ReplicaSet was deleted', async () => {
    const asked = `${url}/v1/deletions?cluster=north&namespace=shop&kind=replicasets`
    const { deletions } = (await (await fetch(asked)).json()) as { deletions: { uid: string }[] }
    gone = deletions.at(-1)?.uid ?? ''
    return gone !== ''
  })
  const deleted = `#/object?${new URLSearchParams({ cluster: 'north', uid: gone })}`
  const drawn = async (page: Page): Promise<void> => {
    await page
      .getByRole('link', { name: /, deleted, too/ })
      .first()
      .waitFor()
  }
  await picture('deleted', deleted, drawn, { ...WINDOW, isDark: true })
  await picture('deleted-narrow', deleted, drawn, NARROW)
  await picture(
    'past-narrow',
    `#/past?${web}`,
    async (page) => await page.getByText(/created \(above the lines\)/).waitFor(),
    { ...NARROW, isDark: false },
  )
  await picture('overview', '', async (page) => {
    await page.getByText('enforce, parity').first().waitFor()
    await page.getByText(', by namespace:').waitFor()
    // What is asked again a moment later has all of it.
    await page.getByText('not indexed yet').waitFor({ state: 'hidden' })
  })
  await held(join(FOLDER, 'held.png'))
} finally {
  await browser.close()
  running.child.kill('SIGTERM')
  await running.ended
  rmSync(data, { recursive: true, force: true })
}

/**
 * What a bulk deletion leaves for people: a ReplicaSet that is missing in another epoch of its
 * cluster.
 */
async function held(file: string): Promise<void> {
  const group = new GraphGroup(1, 0, Date.now())
  try {
    const user = { name: 'ann', uid: 'ann', groups: [], extra: {} }
    const authority = { identify: async () => user, may: async () => true }
    const { url } = await group.start({ authority })
    const story = [
      'approvals 2',
      'put rs/web',
      'put pod/web-1 <- rs/web',
      'put pod/web-2 <- rs/web',
    ]
    const lost = ['lose rs/web', 'rollback', 'relist rs', 'relist pod']
    await tell(group.log, eventsOf([...story, ...lost]))
    await group.caughtUp()
    const { page } = await openPage(browser, url, { ...WINDOW, height: 820 })
    await page.evaluate("sessionStorage.setItem('kinfold-token', 'a-token-of-the-cluster')")
    await page.goto(`${url}/#/held`)
    await page.reload()
    await page.getByLabel('Reason').fill('web is moved to another cluster')
    await page.getByLabel('To confirm').fill('2 in test')
    await page.screenshot({ path: file })
    await page.context().close()
  } finally {
    await group.stop()
  }
}
