import type { Audience } from './token-types.ts'

/** The claims of a token whose signature, type, issuer and dates hold. Whether its subject still stands is a row's to say. */
export type VerifiedToken = {
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number
} & (
  | {
      readonly kind: 'person'
      readonly personId: string
      readonly membershipId: string
      readonly signInId: string
    }
  | {
      readonly kind: 'installation'
      readonly installationId: string
      readonly audience: Audience
      /** The consent that the token is bound to; null: none. */
      readonly setupAuthorityId: string | null
    }
  | { readonly kind: 'end_user'; readonly installationId: string; readonly endUserId: string }
)
