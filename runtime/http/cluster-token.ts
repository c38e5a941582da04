/**
 * The tokens that clusters show where their own servers report something, as a file has them: a
 * line each, the cluster's name or id, and the token.
 *
 * What must stay true: as for all tokens (http-token.ts); one token is one cluster's, so that none
 * speaks for another.
 *
 * Not here: what a cluster is let in for (the route's `takesClusterToken`, endpoint.ts).
 */
import { checkSecret } from '../file-access.ts'
import { EXIT, ExitError } from '../lifecycle.ts'
import { isGoodToken, linesOf, shownIn, TOKEN_RULE, watchedFile } from './http-token.ts'

/** As many clusters, and what two tokens of each take while one is replaced. */
const MOST_LINES = 512

export interface ClusterTokens {
  /** The cluster whose token the value of an `Authorization` header shows. */
  clusterOf(authorization: string | undefined): string | undefined
  /** Why none is let in by it since it has changed; empty while it is good. */
  failure(): string
}

interface ClusterToken {
  readonly cluster: string
  readonly token: string
}

/**
 * Throws `ExitError` when the file cannot be read, has no good tokens now or may be read by other
 * users.
 */
export function openClusterTokens(file: string): ClusterTokens {
  const watched = watchedFile(file, privateTokens)
  return {
    failure: watched.failure,
    clusterOf(authorization) {
      const all = watched.current()
      const index = shownIn(
        all.map(({ token }) => token),
        authorization,
      )
      return all[index]?.cluster
    },
  }
}

/** Of settings: undefined where no file is named. */
export function openAuditTokens({
  auditTokenFile: file,
}: {
  readonly auditTokenFile?: string | undefined
}): ClusterTokens | undefined {
  return file === undefined ? undefined : openClusterTokens(file)
}

function privateTokens(file: string): readonly ClusterToken[] {
  const lines = linesOf(file, 'the file of audit tokens')
  const tokens = lines.map((line) => {
    const [cluster = '', token = '', more] = line.split(/\s+/)
    return more === undefined && isGoodToken(token) ? { cluster, token } : undefined
  })
  const good = tokens.filter((each) => each !== undefined)
  const isUnique = new Set(good.map(({ token }) => token)).size === good.length
  if (good.length === 0 || good.length < lines.length || !isUnique || lines.length > MOST_LINES) {
    throw new ExitError(
      EXIT.input,
      `the file of audit tokens ${file} must hold 1 to ${MOST_LINES} lines, each the name or id of a cluster, a space, and a token of its own of ${TOKEN_RULE}`,
    )
  }
  checkSecret(file, 'the file of audit tokens')
  return good
}
