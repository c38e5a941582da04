/**
 * The KubeConfig of @kubernetes/client-node, without the generated API client.
 *
 * What must stay true: it is the library's own class, so tokens, exec plugins and OIDC are those of
 * every other client. Only the generated API clients are left out: 1,300 modules, which take 50 MB
 * and a second of every start, for calls that Kinfold never makes.
 */
import { registerHooks } from 'node:module'
import type { KubeConfig as Parser } from '@kubernetes/client-node'

/** The exports that config.js uses; it is called by `makeApiClient` only. */
const ABSENT = `
function absent() { throw new Error('Kinfold loads no generated API client; call the server by adapters/kubernetes/connection/exchange.ts') }
export const createConfiguration = absent
export const ServerConfiguration = absent
`
const GENERATED = './gen/index.js'
const CONFIG = /\/@kubernetes\/client-node\/dist\/config\.js$/

/** Held while it loads: an import of anything else is as ever. */
using _hooks = leavingOut()

export const KubeConfig: typeof Parser = (await import('@kubernetes/client-node/dist/config.js'))
  .KubeConfig

function leavingOut(): Disposable {
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      if (specifier !== GENERATED || !CONFIG.test(context.parentURL ?? '')) {
        return next(specifier, context)
      }
      return { url: `data:text/javascript,${encodeURIComponent(ABSENT)}`, shortCircuit: true }
    },
  })
  return { [Symbol.dispose]: () => hooks.deregister() }
}
