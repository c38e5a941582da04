/**
 * Clusters that say who asks over HTTP, and what that user may: `--http-auth token-review:CONTEXT`, `--http-authorize sar`.
 *
 * What must stay true: what is opened is closed with it; a setting that is not understood ends the start.
 *
 * Not here: what their answers mean (runtime/authority.ts).
 */
import type { Command } from 'commander'
import type { Clock } from '../ports/clock.ts'
import { type Authority, createAuthority } from '../runtime/authority.ts'
import { openReviews } from './clusters.ts'
import { bad, oneOf, type Setting, text } from './setting.ts'

const TOKEN_REVIEW = 'token-review:'

export interface AuthorityConfig {
  /** The context whose cluster says whose a token is; undefined: none does. */
  readonly httpReview: string | undefined
  /** Whether reading takes rights in the clusters, too. */
  readonly httpAuthorize: boolean
}

export function addAuthorityOptions(command: Command): Command {
  return command
    .option('--http-auth <how>', 'token-review:CONTEXT, whose cluster says whose a token is')
    .option('--http-authorize <how>', 'sar: reading takes rights in the clusters, too')
}

export function httpAuthority(auth: Setting, authorize: Setting): AuthorityConfig {
  const how = text(auth)
  const context = how?.startsWith(TOKEN_REVIEW) ? how.slice(TOKEN_REVIEW.length) : undefined
  if (how !== undefined && (context ?? '') === '') {
    throw bad(`${auth.from}: expected token-review:CONTEXT, not ${JSON.stringify(how)}`)
  }
  const isReviewed = oneOf(authorize, ['sar']) === 'sar'
  if (isReviewed && context === undefined) {
    throw bad(
      `${authorize.from}: rights are those of a user, so say who says who it is with httpAuth`,
    )
  }
  return { httpReview: context, httpAuthorize: isReviewed }
}

interface Clusters {
  readonly kubeconfig: string | undefined
  readonly contexts: readonly string[]
}

export interface OpenAuthority extends AsyncDisposable {
  /** Undefined where no cluster is to be asked. */
  readonly authority: Authority | undefined
}

/** `contexts`: those whose rights may be asked about beside the one that says whose a token is. */
export function openAuthority(
  { httpReview, kubeconfig, contexts }: Pick<AuthorityConfig, 'httpReview'> & Clusters,
  clock: Clock,
): OpenAuthority {
  if (httpReview === undefined) {
    return { authority: undefined, [Symbol.asyncDispose]: async () => undefined }
  }
  const named = [httpReview, ...contexts.filter((each) => each !== httpReview)]
  const opened = openReviews(kubeconfig, named)
  const [first, ...others] = opened.map(({ review }) => review)
  if (first === undefined) throw bad(`--http-auth: there is no context ${httpReview}`)
  return {
    authority: createAuthority({ reviews: [first, ...others], clock }),
    // A cluster closes its exchange.
    [Symbol.asyncDispose]: async () => {
      await Promise.all(opened.map(({ cluster }) => cluster[Symbol.asyncDispose]()))
    },
  }
}
