/** The rights of a test's user, as RBAC rules that the API server applies when this resolves. */
import { eventually } from '../eventually.ts'
import type { ControlPlane } from './control-plane.ts'

export interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  /** Objects of these names only. */
  readonly resourceNames?: readonly string[]
}

export const ALL_VERBS: readonly string[] = ['get', 'list', 'watch', 'delete', 'patch']
/** The right that everything else needs: to read the cluster's identity. */
const IDENTITY: Rule = { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }

const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const REVIEWS = '/apis/authorization.k8s.io/v1/subjectaccessreviews'

export async function bindRole(
  plane: ControlPlane,
  name: string,
  rules: readonly Rule[],
): Promise<void> {
  const metadata = { name }
  const subjects = [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }]
  const roleRef = { kind: 'ClusterRole', name, apiGroup: 'rbac.authorization.k8s.io' }
  await made(plane, 'clusterroles', { metadata, rules: [IDENTITY, ...rules] })
  await made(plane, 'clusterrolebindings', { metadata, subjects, roleRef })
  // The authorizer follows bindings by a watch of its own.
  const resourceAttributes = { verb: 'get', resource: 'namespaces', name: 'kube-system' }
  const review = { spec: { user: name, resourceAttributes } }
  await eventually('the binding is in force', async () => {
    const answer = await plane.request<{ status: { allowed: boolean } }>('POST', REVIEWS, review)
    return answer.body.status.allowed
  })
}

async function made(plane: ControlPlane, resource: string, body: object): Promise<void> {
  const { status } = await plane.request('POST', `${RBAC}/${resource}`, body)
  if (status !== 201) throw new Error(`POST ${resource} was answered ${status}`)
}
