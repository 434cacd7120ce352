import { createPublicKey } from 'node:crypto'
import { accessCapability } from '@berth/contract'
import { errors as joseErrors, jwtVerify } from 'jose'
import type { errors, Provider } from 'oidc-provider'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { cloudClient, issuerOf, tokenTypes } from '../../identity/tokens/token-types.ts'
import { Mint } from '../signing/mint.ts'
import { TOKEN_EXCHANGE } from './clients.ts'
import { ACCESS_TOKEN_SECONDS, type SignInContext } from './configuration.ts'
import { readLiveSignIn, touchSignIn } from './sign-in-sql.ts'

const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

const parameters = [
  'subject_token',
  'subject_token_type',
  'requested_token_type',
  'actor_token',
  'actor_token_type',
  'audience',
  'resource',
  'scope',
] as const

type Parameters = { readonly [name in (typeof parameters)[number]]?: string }

const isSubject = Compile(
  Type.Object({
    sub: Type.String(),
    aud: Type.String(),
    client_id: Type.String(),
    sid: Type.String(),
    membership: Type.String(),
    exp: Type.Integer(),
  }),
)

/**
 * Lets a confidential client exchange a person's access token, which this service issued to that very client, for a
 * delegation (RFC 8693): an access token of `svc-cloud` that names the client in `act`. It holds product access alone,
 * ends with the person's sign-in and no later than the token that it was exchanged for, and cannot be refreshed.
 */
export function registerDelegation(provider: Provider, context: SignInContext, refusals: typeof errors): void {
  const { db, clock, keys } = context
  const issuer = issuerOf(context.authUrl())
  const mint = new Mint(keys, clock, () => issuer)
  const invalid = (description: string) => new refusals.InvalidRequest(description)

  provider.registerGrantType<Parameters>(
    TOKEN_EXCHANGE,
    async ctx => {
      const { client, params } = ctx.oidc
      if (params.subject_token_type !== ACCESS_TOKEN) throw invalid('subject_token_type must be an access token')
      if ((params.requested_token_type ?? ACCESS_TOKEN) !== ACCESS_TOKEN)
        throw invalid('requested_token_type must be an access token')
      if (params.actor_token !== undefined || params.actor_token_type !== undefined)
        throw invalid('the client itself is the actor; leave actor_token out')
      if (params.audience !== cloudClient || params.resource !== undefined)
        throw new refusals.InvalidTarget(`the only audience is ${cloudClient}`)
      if ((params.scope ?? accessCapability) !== accessCapability)
        throw new refusals.InvalidScope(`the only scope is ${accessCapability}`, accessCapability)
      const now = clock.now()
      const subject = await verified(params.subject_token ?? '', client.clientId, now)
      const signIn = subject === null ? null : await readLiveSignIn(db, subject.sid)
      const grant = subject === null ? undefined : await provider.Grant.find(subject.sid)
      const stands =
        subject !== null &&
        signIn?.client_id === client.clientId &&
        signIn.membership_id === subject.membership &&
        grant?.clientId === client.clientId &&
        grant.accountId === subject.sub
      if (!stands) throw invalid('subject_token is no live access token that this service issued to the client')
      if (!signIn.cloud_access)
        throw new refusals.InvalidScope('the organization has no product access', accessCapability)
      const seconds = Math.min(ACCESS_TOKEN_SECONDS, subject.exp - Math.floor(now.getTime() / 1000))
      const claims = {
        aud: cloudClient,
        client_id: cloudClient,
        act: { sub: client.clientId },
        sid: subject.sid,
        membership: signIn.membership_id,
        organization: signIn.organization_id,
        scope: accessCapability,
      }
      await touchSignIn(db, subject.sid, now)
      ctx.body = {
        access_token: await mint.sign(tokenTypes.person, subject.sub, claims, seconds, now),
        issued_token_type: ACCESS_TOKEN,
        token_type: 'Bearer',
        expires_in: seconds,
        scope: accessCapability,
      }
    },
    parameters,
  )

  /** Returns the claims of a subject token that holds for the client; null for everything else. */
  async function verified(token: string, clientId: string, now: Date) {
    try {
      const { payload } = await jwtVerify(token, ({ kid }) => keyOf(kid), {
        issuer,
        audience: clientId,
        typ: tokenTypes.person,
        algorithms: ['RS256'],
        currentDate: now,
      })
      return isSubject.Check(payload) && payload.client_id === clientId ? payload : null
    } catch (error) {
      if (error instanceof joseErrors.JOSEError) return null
      throw error
    }
  }

  function keyOf(kid: string | undefined) {
    const found = keys.published.find(key => key.kid === kid)
    if (found === undefined) throw new joseErrors.JWKSNoMatchingKey()
    return createPublicKey({ key: found.publicJwk, format: 'jwk' })
  }
}
