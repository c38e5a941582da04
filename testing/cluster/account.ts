/**
 * Service accounts as their users have them: made by kubectl from manifests, known to the API
 * server by a token of its own.
 *
 * What must stay true: every refusal of kubectl is an error here.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { requireBinary } from './binaries.ts'
import type { ControlPlane } from './control-plane.ts'
import { writeKubeconfig } from './credentials.ts'

/** As `kubectl VERB -f -` with these manifests. */
export async function kubectlEach(
  plane: ControlPlane,
  verb: 'apply' | 'delete',
  manifests: string,
): Promise<void> {
  const kubectl = spawn(
    requireBinary('kubectl'),
    ['--kubeconfig', plane.kubeconfig, '--cache-dir', join(plane.folder, 'kubectl'), verb, '-f-'],
    { stdio: ['pipe', 'ignore', 'pipe'] },
  )
  kubectl.stdin.end(manifests)
  const [[code], said] = await Promise.all([once(kubectl, 'close'), text(kubectl.stderr)])
  if (code !== 0) throw new Error(`kubectl ${verb} ended with ${code}: ${said}`)
}

export async function tokenOfAccount(
  plane: ControlPlane,
  namespace: string,
  name: string,
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`
  const { status, body } = await plane.request<{ status: { token: string } }>('POST', path, {
    spec: { expirationSeconds: 3_600 },
  })
  if (status !== 201) throw new Error(`a token of ${namespace}/${name} was answered ${status}`)
  return body.status.token
}

/** Answers the path of a kubeconfig for it. */
export async function kubeconfigOfAccount(
  plane: ControlPlane,
  namespace: string,
  name: string,
  context = 'test',
): Promise<string> {
  const file = join(plane.folder, `${namespace}-${name}.kubeconfig`)
  await writeKubeconfig(file, {
    context,
    server: plane.server,
    ca: await readFile(plane.caFile, 'utf8'),
    user: name,
    token: await tokenOfAccount(plane, namespace, name),
  })
  return file
}
