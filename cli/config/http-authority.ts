/**
 * Clusters that say who asks over HTTP, and what that user may: `--http-auth token-review:CONTEXT`,
 * `--http-authorize sar`.
 *
 * What must stay true: a setting that is not understood ends the start.
 *
 * Not here: asking them (open-authority.ts).
 */
import type { Command } from 'commander'
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
