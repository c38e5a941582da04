/**
 * What an endpoint is served with, opened as the settings have it: tokens, TLS, and the clusters
 * that say who asks.
 *
 * What must stay true: what is opened is closed with it, also after a failure. An address that
 * cannot be listened on is refused before anything is written anywhere.
 *
 * Not here: the settings (config.ts), what a token is good for (runtime/http/endpoint.ts).
 */
import { systemClock } from '../../runtime/clock.ts'
import type { Check } from '../../runtime/health.ts'
import { openAuditTokens } from '../../runtime/http/cluster-token.ts'
import { checkAddress, type HttpSettings } from '../../runtime/http/endpoint.ts'
import { openToken } from '../../runtime/http/http-token.ts'
import { openTlsOf } from '../../runtime/http/tls.ts'
import { ResourceStack } from '../../runtime/resource-stack.ts'
import type { Cuts } from '../../runtime/shares/cuts.ts'
import type { UpConfig } from '../config/config.ts'
import { openAuthority } from './open-authority.ts'
import { checksOfTls, checksOfTokens } from './readiness.ts'

export type HttpConfig = Pick<
  UpConfig,
  | 'http'
  | 'httpTokenFile'
  | 'httpMetricsTokenFile'
  | 'httpAdvertise'
  | 'httpTls'
  | 'httpTlsCaFile'
  | 'httpReview'
  | 'httpAuthorize'
  | 'kubeconfig'
  | 'contexts'
> & { readonly auditTokenFile?: string | undefined }

export interface HttpPurpose {
  readonly cuts: Cuts
  /** It takes events of audit logs. */
  readonly isAudited: boolean
  /** Other processes of the service come to it. */
  readonly isShared: boolean
}

export interface OpenHttp extends AsyncDisposable {
  readonly settings: HttpSettings
  /** Whether what its files have can be used. */
  checks(): readonly Check[]
}

export async function openHttp(config: HttpConfig, purpose: HttpPurpose): Promise<OpenHttp> {
  const { cuts, isAudited, isShared } = purpose
  const token = tokenIn(config.httpTokenFile)
  const metricsToken = tokenIn(config.httpMetricsTokenFile)
  const clusterTokens = isAudited ? openAuditTokens(config) : undefined
  await using opened = new ResourceStack()
  const { authority } = opened.use(openAuthority(config, systemClock(), cuts))
  const tls = openTlsOf(config)
  const settings = {
    ...{ address: config.http, token, metricsToken, clusterTokens, tls, authority, isShared },
    advertise: config.httpAdvertise,
    isReadingReviewed: config.httpAuthorize,
  }
  await checkAddress(settings)
  const kept = opened.move()
  return {
    settings,
    checks: () => [...checksOfTokens({ token, metricsToken, clusterTokens }), ...checksOfTls(tls)],
    [Symbol.asyncDispose]: async () => await kept[Symbol.asyncDispose](),
  }
}

function tokenIn(file: string | undefined): ReturnType<typeof openToken> | undefined {
  return file === undefined ? undefined : openToken(file)
}
