import { randomUUID } from 'node:crypto'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { SignJWT } from 'jose'
import { type Audience, tokenTypes } from '../../identity/tokens/token-types.ts'
import type { SigningKeys } from './signing-keys.ts'

/** Life of every token for apps, in seconds. */
export const APP_TOKEN_SECONDS = 600

type Claims = Readonly<Record<string, unknown>>

/** Signs the tokens that the OpenID provider does not sign. */
export class Mint {
  readonly #keys: SigningKeys
  readonly #clock: Clock
  readonly #issuer: () => string

  constructor(keys: SigningKeys, clock: Clock, issuer: () => string) {
    this.#keys = keys
    this.#clock = clock
    this.#issuer = issuer
  }

  /**
   * Signs an installation's token.
   * @param setupAuthorityId the consent that the token is bound to
   */
  installationToken(installationId: string, audience: Audience, setupAuthorityId: string | null): Promise<string> {
    const setup = setupAuthorityId === null ? {} : { setup: setupAuthorityId }
    return this.sign(tokenTypes.installation, installationId, { aud: audience, ...setup }, APP_TOKEN_SECONDS)
  }

  endUserToken(installationId: string, endUserId: string): Promise<string> {
    return this.sign(tokenTypes.endUser, installationId, { aud: 'svc-ai', end_user: endUserId }, APP_TOKEN_SECONDS)
  }

  /**
   * Signs any claims under the given token type.
   * @param issued the time that the caller has reckoned `seconds` from; reading the clock again could end the token later
   */
  sign(type: string, subject: string, claims: Claims, seconds: number, issued = this.#clock.now()): Promise<string> {
    const { kid, privateKey } = this.#keys.current
    const now = Math.floor(issued.getTime() / 1000)
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid, typ: type })
      .setIssuer(this.#issuer())
      .setSubject(subject)
      .setIssuedAt(now)
      .setExpirationTime(now + seconds)
      .setJti(randomUUID())
      .sign(privateKey)
  }
}
