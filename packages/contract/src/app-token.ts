import { Type } from 'typebox'
import { closed, open, Uuid } from './scalar.ts'

/** What an app's backend signs to name itself. */
export const Assertion = Type.String({
  minLength: 20,
  maxLength: 4096,
  description:
    "A JWT that a registered Ed25519 key of the app signed: `iss` and `sub` are the app's slug, `aud` is the issuer, `exp - iat` is at most 600.",
})

export const ExchangeInstallationToken = Type.Object(
  {
    assertion: Assertion,
    installationId: Uuid,
    resourceAudience: Type.String({ minLength: 1, maxLength: 128, description: '`svc-cloud` or `svc-ai`.' }),
    setupAuthorityId: Type.Optional(
      Type.Unsafe<string>({
        ...Uuid,
        description: 'From an authorized intent: the token then also ends with the membership of whoever consented.',
      }),
    ),
  },
  { title: 'ExchangeInstallationToken', ...closed },
)

export const ExchangeEndUserToken = Type.Object(
  {
    assertion: Assertion,
    installationId: Uuid,
    endUserId: Type.String({
      minLength: 1,
      maxLength: 128,
      description: "The app's own name for one of its users; usage is attributed to it.",
    }),
  },
  { title: 'ExchangeEndUserToken', ...closed },
)

export const IssuedToken = Type.Object(
  {
    success: Type.Literal(true),
    token: Type.String(),
    expiresIn: Type.Integer({ minimum: 1, description: 'Seconds.' }),
  },
  { title: 'IssuedToken', ...open },
)
