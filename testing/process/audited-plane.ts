/**
 * A real API server whose audit webhook is set up as docs/ask/who.md says, and `kinfold up` that
 * takes its events.
 *
 * What must stay true: kubeconfig and policy are those of the page.
 */
import { equal } from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { type ControlPlane, startControlPlane } from '../cluster/control-plane.ts'
import type { TestUser } from '../cluster/credentials.ts'
import { freePort } from '../cluster/port.ts'
import { KinfoldProcess } from './kinfold-process.ts'

const TOKEN = 'a-token-of-the-cluster-test'

export interface Audited extends AsyncDisposable {
  readonly plane: ControlPlane
  readonly kinfold: KinfoldProcess
  /** Of Kinfold's endpoint. */
  readonly url: string
  /** What the API server wrote beside. */
  readonly auditLog: string
  /** As this user, with kubectl. */
  remove(as: string, path: string, body?: object): Promise<number>
}

export interface AuditedOptions {
  readonly users: readonly TestUser[]
  /** Of `kinfold up`. */
  readonly flags: readonly string[]
  /** Before Kinfold starts. */
  readonly prepare?: (plane: ControlPlane) => Promise<void>
}

export async function startAudited({ users, flags, prepare }: AuditedOptions): Promise<Audited> {
  const folder = await mkdtemp(join(tmpdir(), 'kinfold-who-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const { kubeconfig, policy } = await documented(url)
  const [webhookFile, policyFile, tokenFile] = ['webhook', 'policy', 'tokens'].map((name) =>
    join(folder, name),
  ) as [string, string, string]
  await writeFile(webhookFile, kubeconfig)
  await writeFile(policyFile, policy)
  await writeFile(tokenFile, `test ${TOKEN}\n`, { mode: 0o600 })
  const auditLog = join(folder, 'audit.log')
  await using started = new AsyncDisposableStack()
  started.defer(async () => await rm(folder, { recursive: true, force: true }))
  const plane = started.use(
    await startControlPlane({
      users,
      apiserverArgs: [
        `--audit-policy-file=${policyFile}`,
        `--audit-webhook-config-file=${webhookFile}`,
        '--audit-webhook-batch-max-wait=1s',
        '--audit-webhook-batch-max-size=100',
        `--audit-log-path=${auditLog}`,
      ],
    }),
  )
  await prepare?.(plane)
  const kinfold = started.use(
    await KinfoldProcess.start({
      kubeconfig: plane.kubeconfig,
      data: join(folder, 'kinfold'),
      flags: [...flags, '--http', `127.0.0.1:${port}`, '--audit-token-file', tokenFile],
    }),
  )
  const all = started.move()
  return {
    ...{ plane, kinfold, url, auditLog },
    async remove(as, path, body) {
      const headers = {
        authorization: `Bearer ${plane.tokenOf(as)}`,
        'user-agent': 'kubectl/v1.33.0 (linux)',
      }
      return (await plane.request('DELETE', path, body, headers)).status
    },
    [Symbol.asyncDispose]: async () => await all.disposeAsync(),
  }
}

/** What the page has of both files, for this address and token. */
async function documented(
  url: string,
): Promise<{ readonly kubeconfig: string; readonly policy: string }> {
  const page = await readFile(
    join(import.meta.dirname, '..', '..', 'docs', 'ask', 'who.md'),
    'utf8',
  )
  const [first, second] = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text]) => text ?? '')
  equal(typeof second, 'string', 'docs/ask/who.md has both files')
  const config = parse(first ?? '')
  config.clusters[0].cluster = { server: `${url}/v1/audit-events` }
  config.users[0].user.token = TOKEN
  return { kubeconfig: stringify(config), policy: second ?? '' }
}
