/** URL of a repository and the credential for it, for the service's own git. Never stored, never shown. */
export interface RemoteAccess {
  /** `https:`, `http:`, or the absolute path of a bare repository of this machine. */
  readonly url: string
  /** Value of the Authorization header for this URL alone, such as `Basic …`. */
  readonly authorization?: string
  /** When the credential expires. */
  readonly expiresAt?: Date
}
