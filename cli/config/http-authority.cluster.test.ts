/**
 * Shows on a real API server who is let in by TokenReview, who may order, and what
 * SubjectAccessReview hides.
 */
import { equal, match, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { missingServers } from '../../testing/cluster/binaries.ts'
import { type ControlPlane, startControlPlane } from '../../testing/cluster/control-plane.ts'
import { eventually } from '../../testing/eventually.ts'
import { ACTING, KinfoldProcess, logFile } from '../../testing/process/kinfold-process.ts'
import { CONFIG_MAP, type Made, make, SECRET } from '../../testing/process/objects.ts'

const skip = missingServers('etcd', 'kube-apiserver')
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

suite('an endpoint that asks a cluster', { skip: skip ?? false }, () => {
  let plane: ControlPlane
  let kinfold: KinfoldProcess
  let url = ''
  let owner: Made
  let secret: Made
  const shown: string[] = []

  const post = async <T>(path: string, body: object): Promise<T> => {
    const answer = await plane.request<T>('POST', path, body)
    equal(answer.status, 201, JSON.stringify(answer.body))
    return answer.body
  }
  /** Of a service account made for it, with these rights. */
  const tokenOf = async (name: string, rules: readonly object[], audience = 'kinfold') => {
    const accounts = '/api/v1/namespaces/default/serviceaccounts'
    await post(accounts, { metadata: { name } })
    await post(`${RBAC}/clusterroles`, { metadata: { name }, rules })
    const roleRef = { kind: 'ClusterRole', name, apiGroup: 'rbac.authorization.k8s.io' }
    const subjects = [{ kind: 'ServiceAccount', name, namespace: 'default' }]
    await post(`${RBAC}/clusterrolebindings`, { metadata: { name }, subjects, roleRef })
    return await another(name, audience)
  }
  const another = async (name: string, audience: string): Promise<string> => {
    const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`
    const spec = { audiences: [audience], expirationSeconds: 600 }
    const { status } = await post<{ status: { token: string } }>(path, { spec })
    shown.push(status.token)
    return status.token
  }
  const ask = async (path: string, token?: string, body?: object): Promise<Response> => {
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (token !== undefined) headers['authorization'] = `Bearer ${token}`
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    return await fetch(url + path, { headers, ...init })
  }

  let reader = ''
  let operator = ''
  let auditor = ''

  before(async () => {
    plane = await startControlPlane({ context: 'blue' })
    reader = await tokenOf('reader', [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
    ])
    operator = await tokenOf('operator', [
      { apiGroups: ['kinfold.dev'], resources: ['directives'], verbs: ['create'] },
    ])
    auditor = await tokenOf('auditor', [
      { apiGroups: ['kinfold.dev'], resources: ['graphs'], verbs: ['get'] },
    ])
    owner = await make(plane, { kind: CONFIG_MAP, name: 'owner' })
    secret = await make(plane, { kind: SECRET, name: 'hush', owners: [owner] })
    const { kubeconfig, folder } = plane
    const flags = [...ACTING, '--http-auth', 'token-review:blue', '--http-authorize', 'sar']
    kinfold = await KinfoldProcess.start({ kubeconfig, data: join(folder, 'kinfold'), flags })
    const address = readFileSync(join(kinfold.data, 'http.json'), 'utf8')
    url = (JSON.parse(address) as { url: string }).url
    await eventually('all is known', async () => {
      const { status } = await ask(`/v1/why?uid=${secret.uid}`, auditor)
      return status === 200 || `${status}`
    })
  })
  after(async () => {
    await kinfold?.[Symbol.asyncDispose]()
    await plane?.[Symbol.asyncDispose]()
  })

  test('nobody is let in without a token for our audience', async () => {
    equal((await ask('/v1/why?uid=x')).status, 401)
    equal((await ask('/v1/why?uid=x', 'made-up-by-somebody')).status, 401)
    equal((await ask(`/v1/why?uid=${owner.uid}`, await another('auditor', 'else'))).status, 401)
    equal((await ask('/metrics')).status, 401)
    equal((await ask('/livez')).status, 200)
  })

  test('who may get an object in its cluster is told of it, and of nothing else', async () => {
    equal((await ask(`/v1/why?uid=${owner.uid}`, reader)).status, 200)
    const denied = await ask(`/v1/why?uid=${secret.uid}`, reader)
    equal(denied.status, 403)
    const absent = await ask('/v1/why?uid=never-there', reader)
    equal(absent.status, 403)
    equal(await denied.text(), await absent.text())
    for (const path of ['/v1/lineage', '/v1/held', '/debug/graph', '/v1/objects']) {
      equal((await ask(path, reader)).status, 403, path)
      equal((await ask(path, auditor)).status, 200, path)
    }
  })

  test('a plan of what may be got counts what may not be got with it, and does not name it', async () => {
    const asked = `/v1/plan?uid=${owner.uid}`
    const seen = await ask(asked, reader)
    equal(seen.status, 200)
    const text = await seen.text()
    ok(!text.includes('hush') && !text.includes(secret.uid) && !text.includes('Secret'), text)
    match(text, /"total":2,"hidden":1,/)
    match(await (await ask(asked, auditor)).text(), /"name":"hush"/)
    equal((await ask(`/v1/plan?uid=${secret.uid}`, reader)).status, 403)
  })

  test('a tree has no names of what may not be got', async () => {
    const asked = `/v1/tree?uid=${owner.uid}`
    const seen = await (await ask(asked, reader)).text()
    match(seen, /"name":"owner"/)
    match(seen, /"kind":"Secret".*"name":"hidden","uid":"hidden"/)
    ok(!seen.includes('hush') && !seen.includes(secret.uid), seen)
    match(await (await ask(asked, auditor)).text(), /"name":"hush"/)
  })

  test('an order takes a right of its own, and says who gave it', async () => {
    const pause = { verb: 'pause', claimed: 'somebody else' }
    for (const token of [reader, auditor]) {
      const refused = await ask('/v1/directives', token, pause)
      equal(refused.status, 403)
      match(await refused.text(), /to pause takes the right to create directives.kinfold.dev/)
    }
    const given = await ask('/v1/directives', operator, pause)
    equal(given.status, 200)
    match(await given.text(), /"who":"user:system:serviceaccount:default:operator"/)
  })

  test('no token is written down', () => {
    const log = readFileSync(logFile(kinfold.data), 'utf8')
    for (const token of shown) ok(!log.includes(token))
  })
})
