/** Where the service's own git reaches a repository, and with what. Never stored, never shown. */
export interface RemoteAccess {
  /** `https:`, `http:`, or the absolute path of a bare repository of this machine. */
  readonly url: string
  /** Value of the Authorization header for this URL alone, such as `Basic …`. */
  readonly authorization?: string
  /** When the credential ends. */
  readonly expiresAt?: Date
}
