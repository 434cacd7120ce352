import { hash, type KeyObject, verify } from 'node:crypto'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { KeyRing } from './key-ring.ts'
import { readTokenPart } from './token-part.ts'
import { audiences, cloudClient, issuerOf, tokenTypes } from './token-types.ts'
import type { VerifiedToken } from './verified-token.ts'

/** Verified tokens that are remembered; each holds some 300 bytes until it ends. */
const REMEMBERED = 20_000
const LONGEST_TOKEN = 8192

const Uuid = Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' })
const dates = { iat: Type.Integer({ minimum: 0 }), exp: Type.Integer({ minimum: 0 }) }

const isHeader = Compile(
  Type.Object({
    alg: Type.Literal('RS256'),
    kid: Type.String({ minLength: 1, maxLength: 128 }),
    typ: Type.Enum(Object.values(tokenTypes)),
    crit: Type.Optional(Type.Never()),
  }),
)
const isPerson = Compile(
  Type.Object({
    iss: Type.String(),
    sub: Uuid,
    aud: Type.Literal(cloudClient),
    client_id: Type.Literal(cloudClient),
    sid: Uuid,
    membership: Uuid,
    ...dates,
  }),
)
const isInstallation = Compile(
  Type.Object({
    iss: Type.String(),
    sub: Uuid,
    aud: Type.Enum([...audiences]),
    setup: Type.Optional(Uuid),
    ...dates,
  }),
)
const isEndUser = Compile(
  Type.Object({
    iss: Type.String(),
    sub: Uuid,
    aud: Type.Literal('svc-ai'),
    end_user: Type.String({ minLength: 1, maxLength: 128 }),
    ...dates,
  }),
)

/** Returns a verifier of the tokens that a deployment's account service at `authUrl` signs. */
export const openTokenVerifier = (db: Queryable, clock: Clock, authUrl: () => string): TokenVerifier =>
  new TokenVerifier(new KeyRing(db, clock), clock, () => issuerOf(authUrl()))

/**
 * Verifies the tokens that this deployment signs. One algorithm, one issuer, keys from the table alone: a token's own
 * `jwk`, `jku` and `x5u` are never read.
 *
 * A signature costs 34 µs, so a token that was verified is remembered by its digest until it ends. The guard's live
 * statement is asked on every request all the same.
 */
export class TokenVerifier {
  readonly #keys: KeyRing
  readonly #clock: Clock
  readonly #issuer: () => string
  readonly #remembered = new Map<
    string,
    { readonly token: VerifiedToken; readonly key: KeyObject; readonly kid: string }
  >()

  /** @param issuer of this deployment, which may be known only once the service listens */
  constructor(keys: KeyRing, clock: Clock, issuer: () => string) {
    this.#keys = keys
    this.#clock = clock
    this.#issuer = issuer
  }

  /**
   * Returns the claims of a token that holds; null for everything else, whatever is wrong with it.
   * @throws if the keys cannot be read
   */
  async verify(bearer: string): Promise<VerifiedToken | null> {
    if (bearer.length > LONGEST_TOKEN) return null
    const digest = hash('sha256', bearer, 'base64')
    const known = this.#remembered.get(digest)
    if (known !== undefined) {
      // A key that is removed from the table takes its tokens along, within a minute.
      if (this.#holds(known.token) && (await this.#keys.find(known.kid)) === known.key) return known.token
      this.#remembered.delete(digest)
      if (!this.#holds(known.token)) return null
    }
    const parts = bearer.split('.')
    const [head = '', body = '', signature = ''] = parts
    const header = parts.length === 3 ? readTokenPart(head) : null
    if (!isHeader.Check(header)) return null
    const key = await this.#keys.find(header.kid)
    if (key === undefined) return null
    const signed = Buffer.from(`${head}.${body}`)
    if (!verify('sha256', signed, key, Buffer.from(signature, 'base64url'))) return null
    const token = this.#claims(header.typ, readTokenPart(body))
    if (token === null || !this.#holds(token)) return null
    this.#remember(digest, { token, key, kid: header.kid })
    return token
  }

  #claims(type: string, claims: unknown): VerifiedToken | null {
    const issuer = this.#issuer()
    if (type === tokenTypes.person && isPerson.Check(claims) && claims.iss === issuer) {
      const { sub: personId, membership: membershipId, sid: signInId, exp } = claims
      return { kind: 'person', personId, membershipId, signInId, expiresAtMs: exp * 1000 }
    }
    if (type === tokenTypes.installation && isInstallation.Check(claims) && claims.iss === issuer) {
      const { sub: installationId, aud: audience, setup: setupAuthorityId = null, exp } = claims
      return { kind: 'installation', installationId, audience, setupAuthorityId, expiresAtMs: exp * 1000 }
    }
    if (type === tokenTypes.endUser && isEndUser.Check(claims) && claims.iss === issuer) {
      const { sub: installationId, end_user: endUserId, exp } = claims
      return { kind: 'end_user', installationId, endUserId, expiresAtMs: exp * 1000 }
    }
    return null
  }

  #holds({ expiresAtMs }: VerifiedToken): boolean {
    return expiresAtMs > this.#clock.now().getTime()
  }

  /** The oldest goes when there is no room: it is verified again if it comes again. */
  #remember(
    digest: string,
    verified: { readonly token: VerifiedToken; readonly key: KeyObject; readonly kid: string },
  ): void {
    if (this.#remembered.size >= REMEMBERED) {
      const [oldest] = this.#remembered.keys()
      if (oldest !== undefined) this.#remembered.delete(oldest)
    }
    this.#remembered.set(digest, verified)
  }
}
