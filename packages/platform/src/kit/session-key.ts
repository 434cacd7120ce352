/** Names a Session: its id is unique within its organization only. */
export interface SessionKey {
  readonly organizationId: string
  readonly sessionId: string
}
