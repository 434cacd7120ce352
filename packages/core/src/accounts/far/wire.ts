import { permissions, roles } from '@berth/contract'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'

/** The paths at which an account service answers an API with another database. */
export const internalPaths = {
  judge: '/internal/judge',
  judgeGateway: '/internal/judge-gateway',
  revocations: '/internal/revocations',
} as const

const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) => Type.Union([type, Type.Null()])
const uuid = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const Uuid = Type.String({ pattern: `^${uuid}$` })
const Time = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}T', maxLength: 40 })
const Count = Type.Integer({ minimum: 0 })
/** Number of a transaction of the account service's database. */
const Position = Type.String({ pattern: '^\\d{1,20}$' })

/** Longest address of a client: it may be any text that a trusted proxy passed on. */
export const mostAddress = 256

/** A request's bearer, and the address of the client that sent it. */
const presented = {
  bearer: Type.String({ minLength: 1, maxLength: 16_384 }),
  address: Type.String({ minLength: 1, maxLength: mostAddress }),
}
const JudgeRequest = Type.Object({ ...presented, metered: Type.Boolean() }, { additionalProperties: false })
const JudgeGatewayRequest = Type.Object(
  { ...presented, wanted: Type.Integer({ minimum: 1, maximum: 100_000 }) },
  { additionalProperties: false },
)

const Metering = Type.Object({
  policy: Type.Enum(['svc-cloud', 'svc-ai', 'svc-cloud-auth', 'svc-auth-token'], { type: 'string' }),
  remaining: Count,
  burst: Type.Integer({ minimum: 1 }),
  perMinute: Type.Integer({ minimum: 1 }),
  resetSeconds: Count,
})

const OrganizationRow = Type.Object({
  id: Uuid,
  name: Type.String({ minLength: 1, maxLength: 100 }),
  created_at: Time,
  suspended_at: Nullable(Time),
  cloud_access: Type.Boolean(),
  rate_burst: Nullable(Type.Integer({ minimum: 1 })),
  rate_per_minute: Nullable(Type.Integer({ minimum: 1 })),
})
const InstallationRow = Type.Object({
  id: Uuid,
  app_slug: Type.String({ minLength: 1, maxLength: 100 }),
  app_name: Type.String(),
  name: Nullable(Type.String({ minLength: 1, maxLength: 100 })),
  capabilities: Type.Array(Type.String()),
  created_at: Time,
  revoked_at: Nullable(Time),
})
const MembershipRow = Type.Object({
  id: Uuid,
  person_id: Uuid,
  person_name: Type.String({ minLength: 1, maxLength: 100 }),
  person_email: Type.String(),
  role: Type.Enum([...roles], { type: 'string' }),
  created_at: Time,
  revoked_at: Nullable(Time),
})

// An account service of an earlier release unlinks nothing elsewhere.
const PersonRow = Type.Object({
  id: Uuid,
  disabled_at: Nullable(Time),
  unlinked_at: Type.Optional(Nullable(Time)),
})
const SignInRow = Type.Object({ id: Uuid, ended_at: Nullable(Time) })

/**
 * The rows that an API copies, all of one snapshot, whose horizon is `as_of`. An account service of an earlier release
 * tells neither person nor sign-in.
 */
const AccountSnapshot = Type.Object({
  as_of: Position,
  organization: OrganizationRow,
  installation: Nullable(InstallationRow),
  membership: Nullable(MembershipRow),
  person: Type.Optional(Nullable(PersonRow)),
  sign_in: Type.Optional(Nullable(SignInRow)),
  api_key_id: Nullable(Uuid),
})
export type AccountSnapshot = Static<typeof AccountSnapshot>

const principal = {
  id: Uuid,
  organizationId: Uuid,
  capabilities: Type.Array(Type.String()),
  expiresAt: Nullable(Time),
}
const Verdict = Type.Union([
  Type.Object({ kind: Type.Literal('invalid') }),
  Type.Object({ kind: Type.Literal('limited'), metering: Metering, retryAfterSeconds: Type.Integer({ minimum: 1 }) }),
  Type.Object({
    kind: Type.Literal('granted'),
    principal: Type.Union([
      Type.Object({ kind: Type.Literal('app_installation'), ...principal }),
      Type.Object({
        kind: Type.Literal('person'),
        ...principal,
        membershipId: Uuid,
        signInId: Uuid,
        role: Type.Enum([...roles], { type: 'string' }),
        permissions: Type.Array(Type.Enum([...permissions], { type: 'string' })),
      }),
    ]),
    metering: Metering,
    snapshot: AccountSnapshot,
  }),
])
export type WireVerdict = Static<typeof Verdict>

const GatewayJudgement = Type.Object({
  caller: Nullable(
    Type.Object({
      kind: Type.Enum(['ai_key', 'installation', 'person', 'end_user'], { type: 'string' }),
      organizationId: Uuid,
      capabilities: Type.Array(Type.String()),
      apiKeyId: Nullable(Uuid),
      installationId: Nullable(Uuid),
      personId: Nullable(Uuid),
      endUserId: Nullable(Type.String({ minLength: 1, maxLength: 128 })),
    }),
  ),
  granted: Count,
  remaining: Type.Number(),
  bucket: Type.Object({ burst: Type.Integer({ minimum: 1 }), perMinute: Type.Integer({ minimum: 1 }) }),
  snapshot: Nullable(AccountSnapshot),
})
export type WireGatewayJudgement = Static<typeof GatewayJudgement>

const Change = Type.Union([
  Type.Object({ kind: Type.Literal('organization'), row: Type.Omit(OrganizationRow, ['created_at']) }),
  Type.Object({
    kind: Type.Literal('installation'),
    row: Type.Pick(InstallationRow, ['id', 'capabilities', 'revoked_at']),
  }),
  Type.Object({ kind: Type.Literal('membership'), row: Type.Pick(MembershipRow, ['id', 'revoked_at']) }),
  Type.Object({ kind: Type.Literal('person'), row: PersonRow }),
  Type.Object({ kind: Type.Literal('sign_in'), row: SignInRow }),
])
export type Change = Static<typeof Change>

/** The kinds of changes that an API follows. It names them, since one of an earlier release knows the first three alone. */
export const changeKinds = [
  'organization',
  'installation',
  'membership',
  'person',
  'sign_in',
] as const satisfies Change['kind'][]
/** The kinds that are told to an API that names none. */
export const firstChangeKinds = changeKinds.slice(0, 3)

/** A place among the changes: after the last one of a page, as `<position>.<id>`. */
const cursor = Type.String({ pattern: `^\\d{1,20}\\.${uuid}$` })
const Revocations = Type.Object({ changes: Type.Array(Change), cursor, more: Type.Boolean() })
export type Revocations = Static<typeof Revocations>

export const isJudgeRequest = Compile(JudgeRequest)
export const isJudgeGatewayRequest = Compile(JudgeGatewayRequest)
export const isCursor = Compile(cursor)
export const isVerdict = Compile(Verdict)
export const isGatewayJudgement = Compile(GatewayJudgement)
export const isRevocations = Compile(Revocations)
