/**
 * The kubeconfig of a playground: a context per cluster, the first one current, no credentials. Its
 * user says who they are, which the playground believes: so its audit log has a name.
 *
 * What must stay true: it lies in the playground's own directory; no user's kubeconfig is touched.
 */
import { writeFileSync } from 'node:fs'

/** Who uses the kubeconfig. Another name: `kubectl --as NAME`. */
export const USER = 'alice'

export interface KubeconfigCluster {
  /** Name of the context and of the cluster. */
  readonly name: string
  readonly url: string
}

export function writeKubeconfig(
  file: string,
  clusters: readonly [KubeconfigCluster, ...KubeconfigCluster[]],
): void {
  writeFileSync(file, kubeconfigText(clusters), { mode: 0o600 })
}

export function kubeconfigText(
  clusters: readonly [KubeconfigCluster, ...KubeconfigCluster[]],
): string {
  const lines = ['apiVersion: v1', 'kind: Config', `current-context: ${quoted(clusters[0].name)}`]
  lines.push('clusters:')
  for (const { name, url } of clusters) {
    lines.push(`- name: ${quoted(name)}`, '  cluster:', `    server: ${quoted(url)}`)
  }
  lines.push('contexts:')
  for (const { name } of clusters) {
    lines.push(`- name: ${quoted(name)}`, '  context:')
    lines.push(`    cluster: ${quoted(name)}`, `    user: ${USER}`, '    namespace: default')
  }
  // kubectl sends no other credentials over plain HTTP.
  lines.push('users:', `- name: ${USER}`, '  user:', `    as: ${USER}`)
  return `${lines.join('\n')}\n`
}

/** A JSON string is a YAML string. */
function quoted(text: string): string {
  return JSON.stringify(text)
}
