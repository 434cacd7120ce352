import type { GitHost, RepositoryRef } from '../git-hosts/git-host.ts'
import type { SessionKey } from '../kit/session-key.ts'

/** The repository that a Session's work comes from and goes back to. */
export interface DeliverySource {
  readonly organizationId: string
  readonly host: GitHost
  readonly repository: RepositoryRef
  readonly baseBranch: string
  readonly baseOid: string
}

/** The repositories of Sessions, as deliveries use them. */
export interface Sources {
  /** Null for a Session without a repository; `revoked` where no live grant covers it any more. */
  find(key: SessionKey): Promise<DeliverySource | 'revoked' | null>
  /** A bare repository on this host that holds the base commit, until disposed of. @throws GitHostError, GitError */
  mirror(source: DeliverySource, signal: AbortSignal): Promise<{ readonly gitDir: string } & AsyncDisposable>
}
