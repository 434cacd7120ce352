import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { readTokenPart } from '../../identity/tokens/token-part.ts'

/** Longest life of an assertion, and how far clocks may differ, in seconds. */
const LONGEST = 600
const SKEW = 60

const isHeader = Compile(
  Type.Object({
    alg: Type.Enum(['EdDSA', 'Ed25519']),
    kid: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
    typ: Type.Optional(Type.Literal('JWT')),
    crit: Type.Optional(Type.Never()),
  }),
)
const Seconds = Type.Number({ minimum: 0, maximum: 2 ** 40 })
const isClaims = Compile(
  Type.Object({
    iss: Type.String({ pattern: '^[a-z][a-z0-9-]{1,62}$' }),
    sub: Type.String(),
    aud: Type.String(),
    iat: Seconds,
    exp: Seconds,
    nbf: Type.Optional(Seconds),
  }),
)

/** An app whose backend has named itself. */
export interface AssertingApp {
  readonly slug: string
  /** The organization that publishes the app. */
  readonly organizationId: string
}

/**
 * Verifies the assertions by which the backends of apps name themselves. Keys come from the table alone and are read for
 * each assertion, so a revoked key is refused at once.
 */
export class Assertions {
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #issuer: () => string

  /** @param issuer of this deployment, which every assertion must name as its audience */
  constructor(db: Queryable, clock: Clock, issuer: () => string) {
    this.#db = db
    this.#clock = clock
    this.#issuer = issuer
  }

  /**
   * Returns the app that signed an assertion.
   * @throws ApiError 401 `invalid_assertion`, the same whatever is wrong
   */
  async verify(assertion: string): Promise<AssertingApp> {
    const app = await this.#appOf(assertion)
    if (app === null) throw refusal('invalid_assertion')
    return app
  }

  async #appOf(assertion: string): Promise<AssertingApp | null> {
    const parts = assertion.split('.')
    const [head = '', body = '', signature = ''] = parts
    const [header, claims] = parts.length === 3 ? [readTokenPart(head), readTokenPart(body)] : []
    if (!isHeader.Check(header) || !isClaims.Check(claims) || !/^[A-Za-z0-9_-]{86}$/.test(signature)) return null
    if (claims.sub !== claims.iss || claims.aud !== this.#issuer() || !this.#isTimely(claims)) return null
    const found = await this.#find(claims.iss, header.kid)
    if (found === null) return null
    const holds = verify(null, Buffer.from(`${head}.${body}`), found.key, Buffer.from(signature, 'base64url'))
    return holds ? { slug: claims.iss, organizationId: found.organizationId } : null
  }

  #isTimely({ iat, exp, nbf }: { readonly iat: number; readonly exp: number; readonly nbf?: number }): boolean {
    const now = this.#clock.now().getTime() / 1000
    if (exp <= iat || exp - iat > LONGEST) return false
    return iat <= now + SKEW && now < exp + SKEW && (nbf === undefined || nbf <= now + SKEW)
  }

  async #find(slug: string, kid: string): Promise<{ key: KeyObject; organizationId: string } | null> {
    const row = await queryRow<{ public_jwk: JsonWebKey; organization_id: string }>(this.#db, {
      name: 'find-app-key',
      text: `
        select k.public_jwk, a.organization_id
        from app_keys k join apps a on a.slug = k.app_slug join organizations o on o.id = a.organization_id
        where k.app_slug = $1 and k.kid = $2 and k.revoked_at is null
          and a.deleted_at is null and not a.reserved and o.suspended_at is null`,
      values: [slug, kid],
    })
    if (row === null) return null
    return { key: createPublicKey({ key: row.public_jwk, format: 'jwk' }), organizationId: row.organization_id }
  }
}
