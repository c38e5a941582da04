/**
 * The page over a real API server, in a real Chromium: a bulk deletion is shown, and approved by
 * two people whom the cluster knows.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { missingServers } from '../cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../cluster/control-plane.ts'
import { eventually } from '../eventually.ts'
import { KinfoldProcess } from '../process/kinfold-process.ts'
import {
  CONFIG_MAP,
  kind,
  type Made,
  make,
  missingOf,
  remove,
  untilGone,
} from '../process/objects.ts'
import { missingBrowser, startBrowser, watched } from './browser.ts'
import { violations } from './violations.ts'

const skip = missingServers('etcd', 'kube-apiserver') ?? missingBrowser()
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const WIDGET = kind('example.com/v1', 'Widget', 'widgets')
const VERSION = {
  ...{ name: 'v1', served: true, storage: true },
  schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
}
const DEFINITION = {
  ...kind('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions'),
  namespaced: false,
  body: {
    spec: {
      ...{ group: 'example.com', scope: 'Namespaced', versions: [VERSION] },
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
    },
  },
}
/** Discovery is read each half minute. */
const PATIENCE = { withinMs: 120_000 }

suite('the page over a real API server', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let browser: Browser
  let url = ''
  let maps: readonly Made[] = []
  const tokens = new Map<string, string>()

  const post = async <T>(path: string, body: object): Promise<T> => {
    const answer = await plane.request<T>('POST', path, body)
    equal(answer.status, 201, JSON.stringify(answer.body))
    return answer.body
  }
  const ask = async (path: string): Promise<Response> =>
    await fetch(url + path, { headers: { authorization: `Bearer ${tokens.get('ann')}` } })

  before(async () => {
    browser = await startBrowser()
    plane = await startControlPlane({ context: 'blue' })
    const rules = [
      { apiGroups: ['kinfold.dev'], resources: ['graphs'], verbs: ['get'] },
      { apiGroups: ['kinfold.dev'], resources: ['directives'], verbs: ['create'] },
    ]
    await post(`${RBAC}/clusterroles`, { metadata: { name: 'operators' }, rules })
    const accounts = '/api/v1/namespaces/default/serviceaccounts'
    for (const name of ['ann', 'bob']) {
      await post(accounts, { metadata: { name } })
      const roleRef = {
        kind: 'ClusterRole',
        name: 'operators',
        apiGroup: 'rbac.authorization.k8s.io',
      }
      const subjects = [{ kind: 'ServiceAccount', name, namespace: 'default' }]
      await post(`${RBAC}/clusterrolebindings`, { metadata: { name }, subjects, roleRef })
      const spec = { audiences: ['kinfold'], expirationSeconds: 3_600 }
      const { status } = await post<{ status: { token: string } }>(`${accounts}/${name}/token`, {
        spec,
      })
      tokens.set(name, status.token)
    }
    const definition = await make(plane, { kind: DEFINITION, name: 'widgets.example.com' })
    const widget = await eventuallyMade()
    maps = await Promise.all(
      ['one', 'two'].map((name) => make(plane, { kind: CONFIG_MAP, name, owners: [widget] })),
    )
    const { kubeconfig, folder } = plane
    const config = join(folder, 'kinfold.yaml')
    writeFileSync(config, 'apiVersion: kinfold/v1alpha1\nkind: Config\napprovals: 2\n')
    const acting = ['--mode', 'enforce', '--preset', 'guarded', '--lock', 'off']
    const asked = ['--http-auth', 'token-review:blue', '--http-authorize', 'sar']
    const flags = ['--config', config, ...acting, ...asked]
    const kinds = ['--kinds', 'configmaps,widgets.example.com']
    kinfold = await KinfoldProcess.start({
      ...{ kubeconfig, data: join(folder, 'kinfold') },
      flags: [...flags, ...kinds],
    })
    const address = readFileSync(join(kinfold.data, 'http.json'), 'utf8')
    url = (JSON.parse(address) as { url: string }).url
    await eventually('the family is known', async () => {
      const answers = await Promise.all(maps.map(({ uid }) => ask(`/v1/why?uid=${uid}`)))
      return answers.every(({ ok }) => ok)
    })
    await remove(plane, definition)
    await eventually(
      'it is seen as a bulk deletion',
      async () => {
        const { total } = (await (await ask('/v1/plan/held')).json()) as { total: number }
        return total === 2 || (await (await ask(`/v1/why?uid=${maps[0]?.uid}`)).text())
      },
      PATIENCE,
    )
    // Nothing is deleted before a live GET of its owner, which takes the kind to be served.
    await make(plane, { kind: DEFINITION, name: 'widgets.example.com' })
    await eventually(
      'the kind is listed again',
      async () => {
        const { clusters } = (await (await ask('/v1/clusters')).json()) as {
          clusters: { status: { monitored: number; synced: number } }[]
        }
        const [{ status } = { status: { monitored: 0, synced: 0 } }] = clusters
        return (status.monitored === 2 && status.synced === 2) || JSON.stringify(status)
      },
      PATIENCE,
    )
  })
  after(async () => {
    await browser?.close()
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  async function eventuallyMade(): Promise<Made> {
    let made: Made | undefined
    await eventually('widgets are served', async () => {
      made = await make(plane, { kind: WIDGET, name: 'w' })
      return true
    })
    return made as Made
  }

  const logIn = async (t: TestContext, name: string): Promise<Page> => {
    const page = await watched(t, browser, url)
    await page.getByLabel('Token').fill(tokens.get(name) ?? '')
    await page.getByRole('main').getByRole('button', { name: 'Log in' }).click()
    return page
  }

  test('what waits is on the first screen, and nothing is deleted before two have approved it', async (t) => {
    const open = async (name: string): Promise<Page> => {
      const page = await logIn(t, name)
      await page
        .getByRole('link', { name: '2 objects held until a person approves or rejects' })
        .click()
      await page.getByRole('link', { name: 'ConfigMap/one' }).waitFor()
      return page
    }
    const approve = async (page: Page): Promise<void> => {
      await page.getByLabel('Reason').fill('widgets are not used any more')
      await page.getByLabel('To confirm').fill('2 in blue')
      await page.getByRole('button', { name: /^Approve/ }).click()
    }
    const ann = await open('ann')
    deepEqual(await violations(ann), [])
    await approve(ann)
    await ann
      .getByText(/Approved by user:system:serviceaccount:default:ann\. This is the first/)
      .waitFor()
    equal((await missingOf(plane, maps)).length, 0)
    const bob = await open('bob')
    await approve(bob)
    await bob
      .getByText(/Approved by user:system:serviceaccount:default:bob\. What it releases/)
      .waitFor()
    await untilGone(plane, maps)
    const page = await logIn(t, 'ann')
    await page.goto(`${url}/#/object?cluster=blue&uid=${maps[0]?.uid}`)
    await page
      .getByText(/^Deleted .* ago by Kinfold/)
      .first()
      .waitFor()
    deepEqual(await violations(page), [])
  })
})
