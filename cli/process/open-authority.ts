/**
 * The clusters that say who asks over HTTP, opened.
 *
 * What must stay true: what is opened is closed with it.
 *
 * Not here: the settings (http-authority.ts), what their answers mean (runtime/http/authority.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import { type Authority, createAuthority } from '../../runtime/http/authority.ts'
import type { Cuts } from '../../runtime/shares/cuts.ts'
import { openReviews } from '../config/clusters.ts'
import type { AuthorityConfig } from '../config/http-authority.ts'
import { bad } from '../config/setting.ts'

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
  cuts: Cuts,
): OpenAuthority {
  if (httpReview === undefined) {
    return { authority: undefined, [Symbol.asyncDispose]: async () => undefined }
  }
  const named = [httpReview, ...contexts.filter((each) => each !== httpReview)]
  const opened = openReviews(kubeconfig, named)
  const [first, ...others] = opened.map(({ review }) => review)
  if (first === undefined) throw bad(`--http-auth: there is no context ${httpReview}`)
  return {
    authority: createAuthority({ reviews: [first, ...others], clock, cuts }),
    // A cluster closes its exchange.
    [Symbol.asyncDispose]: async () => {
      await Promise.all(opened.map(({ cluster }) => cluster[Symbol.asyncDispose]()))
    },
  }
}
