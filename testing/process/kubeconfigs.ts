/**
 * Kubeconfigs for tests: several control planes in one file, or one behind another address.
 *
 * What must stay true: no user's own kubeconfig is read or written.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { parse, stringify } from 'yaml'

interface Named {
  readonly name: string
}

interface Kubeconfig {
  readonly 'current-context': string
  readonly clusters: readonly (Named & { readonly cluster: object })[]
  readonly contexts: readonly (Named & {
    readonly context: { readonly cluster: string; readonly user: string }
  })[]
  readonly users: readonly (Named & { readonly user: object })[]
}

async function read(file: string): Promise<Kubeconfig> {
  return parse(await readFile(file, 'utf8')) as Kubeconfig
}

/**
 * All contexts of these files in one; users are named by their context, since all files may call
 * theirs alike.
 */
export async function mergeKubeconfigs(files: readonly string[], target: string): Promise<void> {
  const all = await Promise.all(files.map(read))
  const merged = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': all[0]?.['current-context'],
    clusters: all.flatMap(({ clusters }) => clusters),
    contexts: all.flatMap(({ contexts }) =>
      contexts.map(({ name, context }) => ({ name, context: { ...context, user: name } })),
    ),
    users: all.flatMap(({ contexts, users }) =>
      contexts.map(({ name, context }) => ({
        name,
        user: users.find((user) => user.name === context.user)?.user,
      })),
    ),
  }
  await writeFile(target, stringify(merged), { mode: 0o600 })
}

/** The same users and contexts, with the server elsewhere: a proxy that speaks plain HTTP. */
export async function redirectKubeconfig(
  file: string,
  server: string,
  target: string,
): Promise<void> {
  const config = await read(file)
  const clusters = config.clusters.map(({ name }) => ({ name, cluster: { server } }))
  await writeFile(target, stringify({ ...config, clusters }), { mode: 0o600 })
}
