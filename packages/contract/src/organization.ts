import { type Static, Type } from 'typebox'
import { permissions, roles } from './capability.ts'
import { closed, DateTime, nullable, OpenObject, open, openString, Sha256, Uuid } from './scalar.ts'

const success = Type.Literal(true)
const Role = Type.Enum(roles, { type: 'string' })
const Permissions = Type.Array(Type.Enum(permissions, { type: 'string' }), {
  maxItems: permissions.length,
  uniqueItems: true,
  description: 'What the member may administer beside the role. An administrator holds every permission.',
})
const Email = Type.String({ pattern: '^[^\\s@]+@[^\\s@]+$', maxLength: 254 })

/** A person as a member of an organization. */
export const Member = Type.Object(
  {
    id: Type.String({ format: 'uuid', description: 'Id of the membership.' }),
    person: Type.Object({ id: Uuid, name: Type.String(), email: Type.String() }, open),
    role: openString(roles),
    permissions: Type.Array(openString(permissions)),
    createdAt: DateTime,
    disabled: Type.Boolean({ description: 'Whether an operator has disabled the account.' }),
  },
  { title: 'Member', ...open },
)

export const MemberList = Type.Object({ success, members: Type.Array(Member) }, { title: 'MemberList', ...open })

export const MemberEnvelope = Type.Object({ success, member: Member }, { title: 'MemberEnvelope', ...open })

export const UpdateMember = Type.Object(
  { role: Type.Optional(Role), permissions: Type.Optional(Permissions) },
  { title: 'UpdateMember', minProperties: 1, ...closed },
)

export const ResetMember = Type.Object(
  {
    secondFactor: Type.Optional(
      Type.Boolean({
        description:
          'Whether to remove the second factor and its recovery codes at once, which ends every sign-in of the person.',
      }),
    ),
  },
  { title: 'ResetMember', ...closed },
)

export const MemberReset = Type.Object(
  {
    success,
    url: Type.String({ description: 'The link to hand over. It is shown once, and works once.' }),
    expiresAt: DateTime,
  },
  { title: 'MemberReset', ...open },
)

/** An invitation that nobody has accepted yet. */
export const Invitation = Type.Object(
  {
    id: Sha256,
    email: Type.String(),
    role: openString(roles),
    permissions: Type.Array(openString(permissions)),
    createdAt: DateTime,
    expiresAt: DateTime,
  },
  { title: 'Invitation', ...open },
)

export const InvitationList = Type.Object(
  { success, invitations: Type.Array(Invitation) },
  { title: 'InvitationList', ...open },
)

export const CreateInvitation = Type.Object(
  { email: Email, role: Type.Optional(Role), permissions: Type.Optional(Permissions) },
  { title: 'CreateInvitation', ...closed },
)

export const CreatedInvitation = Type.Object(
  {
    success,
    invitation: Invitation,
    url: Type.String({ description: 'The link to hand over. It is shown once, and works once.' }),
  },
  { title: 'CreatedInvitation', ...open },
)

/** One fact of the audit log. */
export const AuditEntry = Type.Object(
  {
    id: Uuid,
    at: DateTime,
    actor: Type.Object(
      { kind: Type.String(), id: nullable(Type.String()), name: nullable(Type.String()) },
      { description: 'Who did it: a person, an app, an installation, an operator or the service.', ...open },
    ),
    action: Type.String({ description: 'Such as `member.removed`.' }),
    target: nullable(Type.String({ description: 'What it was done to.' })),
    targetName: nullable(
      Type.String({ description: 'How people call the target; null if nothing has its name any more.' }),
    ),
    address: nullable(Type.String({ description: 'Network address of the client.' })),
    outcome: openString(['done', 'refused']),
    details: OpenObject,
  },
  { title: 'AuditEntry', ...open },
)

export const AuditPage = Type.Object(
  {
    success,
    entries: Type.Array(AuditEntry),
    nextCursor: nullable(Type.String()),
    hasMore: Type.Boolean(),
  },
  { title: 'AuditPage', ...open },
)

/** A sign-in that has not ended. */
export const SignIn = Type.Object(
  {
    id: Uuid,
    organizationId: Uuid,
    clientId: Type.String({ description: 'The client that the person signed in with, such as `svc-cloud`.' }),
    address: nullable(Type.String()),
    userAgent: nullable(Type.String()),
    createdAt: DateTime,
    lastUsedAt: DateTime,
    current: Type.Boolean({ description: "Whether it is the sign-in of this request's token." }),
  },
  { title: 'SignIn', ...open },
)

export const SignInList = Type.Object({ success, signIns: Type.Array(SignIn) }, { title: 'SignInList', ...open })

export type Member = Static<typeof Member>
export type Invitation = Static<typeof Invitation>
export type AuditEntry = Static<typeof AuditEntry>
export type SignIn = Static<typeof SignIn>
