import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import type { GitHost, RepositoryRef } from '../git-hosts/git-host.ts'

/** The repository that a Session's work comes from and goes back to. */
export interface DeliverySource {
  readonly organizationId: string
  readonly host: GitHost
  readonly repository: RepositoryRef
  readonly baseBranch: string
  /** The commit with which the attached workspace is compared: the pinned one, or one that was brought since. */
  readonly baseOid: string
}

/** The repositories of Sessions, as deliveries use them. */
export interface Sources {
  /** Null if the Session has no repository; `revoked` if no live grant covers it any more. */
  find(key: SessionKey): Promise<DeliverySource | 'revoked' | null>
  /**
   * Returns the directory of a bare repository on this host that holds the base commit.
   * @throws GitHostError, GitError
   */
  mirror(source: DeliverySource, signal: AbortSignal): Promise<string>
}
