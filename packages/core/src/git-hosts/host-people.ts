/** The tokens with which the service acts for a person at a host. */
export interface PersonTokens {
  readonly access: string
  /** Null: it ends only with its revocation. */
  readonly accessEndsAt: Date | null
  /** Gives new tokens once; null if there is none. */
  readonly refresh: string | null
}

/** A person at a host. */
export interface HostPerson {
  /** The host's stable id. */
  readonly id: string
  readonly login: string
}

/** An account of the host that this deployment reaches, as a person sees it. */
export interface PersonAccount {
  readonly account: string
  readonly login: string
  readonly kind: 'person' | 'organization'
  /** This deployment reaches every repository of the account, later ones too. */
  readonly whole: boolean
  /** The host says that the person administers the account. */
  readonly administered: boolean
}

/**
 * People with accounts at the host, who let this deployment act for them. Every method fails only with a `GitHostError`:
 * `unauthorized` if the host takes the code or token no more.
 */
export interface HostPeople {
  /**
   * Returns where a browser goes to ask the person.
   * @param request `challenge` of PKCE, by S256
   */
  authorizeUrl(request: { readonly state: string; readonly challenge: string; readonly redirectUri: string }): string
  redeem(
    answer: { readonly code: string; readonly verifier: string; readonly redirectUri: string },
    signal?: AbortSignal,
  ): Promise<PersonTokens>
  refresh(token: string, signal?: AbortSignal): Promise<PersonTokens>
  readPerson(access: string, signal?: AbortSignal): Promise<HostPerson>
  /** Lists the accounts that both this deployment and the person reach. */
  listAccounts(access: string, signal?: AbortSignal): Promise<PersonAccount[]>
  /** Returns what the person may do in a repository. */
  rightIn(access: string, repositoryId: string, signal?: AbortSignal): Promise<'none' | 'read' | 'write'>
  /** Returns where people let this deployment reach another account. */
  installUrl(signal?: AbortSignal): Promise<string>
  /** Makes the host refuse a token from now on. One that it refuses already is no error. */
  revoke(access: string, signal?: AbortSignal): Promise<void>
}
