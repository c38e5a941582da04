/** The parser is the library's, and the generated client is not loaded. */
import { equal, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { KubeConfig } from './kubeconfig-parser.ts'

test('the parser knows the contexts that it is given', () => {
  equal(parsed().getCurrentCluster()?.server, 'https://127.0.0.1:6443')
})

test('the parser makes no API client', () => {
  throws(() => parsed().makeApiClient(class {} as never), /loads no generated API client/)
})

function parsed(): InstanceType<typeof KubeConfig> {
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: [{ name: 'north', server: 'https://127.0.0.1:6443' }],
    users: [{ name: 'me' }],
    contexts: [{ name: 'north', cluster: 'north', user: 'me' }],
    currentContext: 'north',
  })
  return config
}
