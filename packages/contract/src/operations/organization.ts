import { Type } from 'typebox'
import { operation } from '../operation.ts'
import {
  AuditPage,
  CreatedInvitation,
  CreateInvitation,
  InvitationList,
  MemberEnvelope,
  MemberList,
  MemberReset,
  ResetMember,
  SignInList,
  UpdateMember,
} from '../organization.ts'
import { closed, Sha256, Uuid } from '../scalar.ts'
import { Cursor, pageLimit } from './parameters.ts'

const shared = { tag: 'Organizations', access: 'person', origin: 'account' } as const
const administered = { ...shared, needs: 'administrator' } as const
const OrganizationPath = Type.Object({ organizationId: Uuid })
const MemberPath = Type.Object({ organizationId: Uuid, membershipId: Uuid })

/** Members of an organization, its invitations and its audit log; and a person's own sign-ins. */
export const organizationOperations = {
  listMembers: operation({
    ...administered,
    method: 'GET',
    path: '/api/organizations/{organizationId}/members',
    summary: 'List members',
    params: OrganizationPath,
    responses: { 200: { description: 'The live members by name.', schema: MemberList } },
    errors: ['organization_not_found'],
  }),
  updateMember: operation({
    ...administered,
    recent: true,
    method: 'PATCH',
    path: '/api/organizations/{organizationId}/members/{membershipId}',
    summary: "Change a member's role or permissions",
    description: 'The change holds on the next request of the member.',
    params: MemberPath,
    body: UpdateMember,
    responses: { 200: { description: 'The member as changed.', schema: MemberEnvelope } },
    errors: ['organization_not_found', 'membership_not_found', 'last_administrator'],
  }),
  removeMember: operation({
    ...administered,
    recent: true,
    method: 'DELETE',
    path: '/api/organizations/{organizationId}/members/{membershipId}',
    summary: 'Remove a member',
    description: "The member's tokens are refused from the next request on. Sessions and integrations of theirs stay.",
    params: MemberPath,
    responses: { 204: { description: 'The membership has ended.' } },
    errors: ['organization_not_found', 'membership_not_found', 'last_administrator'],
  }),
  resetMember: operation({
    ...administered,
    recent: true,
    method: 'POST',
    path: '/api/organizations/{organizationId}/members/{membershipId}/reset',
    summary: 'Let a member choose a new password',
    description:
      'Returns a link to hand over; the service sends no mail. It works once, for 24 hours, and no longer once the person joins another organization. Earlier ones stop working. Whoever follows it ends every sign-in of the person, and unlinks their identities and accounts at Git hosts.',
    params: MemberPath,
    body: ResetMember,
    responses: { 201: { description: 'The link.', schema: MemberReset } },
    errors: ['organization_not_found', 'membership_not_found', 'member_reset_refused'],
  }),
  createInvitation: operation({
    ...administered,
    recent: true,
    method: 'POST',
    path: '/api/organizations/{organizationId}/invitations',
    summary: 'Invite a person',
    description:
      'Returns a link to hand over; the service sends no mail. It works once, for 24 hours. Earlier invitations of the email stop working.',
    params: OrganizationPath,
    body: CreateInvitation,
    responses: { 201: { description: 'The invitation with its link.', schema: CreatedInvitation } },
    errors: ['organization_not_found'],
  }),
  listInvitations: operation({
    ...administered,
    method: 'GET',
    path: '/api/organizations/{organizationId}/invitations',
    summary: 'List open invitations',
    params: OrganizationPath,
    responses: { 200: { description: 'The invitations that still work, newest first.', schema: InvitationList } },
    errors: ['organization_not_found'],
  }),
  withdrawInvitation: operation({
    ...administered,
    method: 'DELETE',
    path: '/api/organizations/{organizationId}/invitations/{invitationId}',
    summary: 'Withdraw an invitation',
    description: 'Withdrawing an invitation that no longer works changes nothing.',
    params: Type.Object({ organizationId: Uuid, invitationId: Sha256 }),
    responses: { 204: { description: 'The link does not work.' } },
    errors: ['organization_not_found'],
  }),
  listAudit: operation({
    ...administered,
    method: 'GET',
    path: '/api/organizations/{organizationId}/audit',
    summary: 'Read the audit log',
    params: OrganizationPath,
    query: Type.Object(
      {
        limit: pageLimit(50),
        cursor: Cursor,
        action: Type.Optional(
          Type.String({ minLength: 1, maxLength: 64, description: 'Return only entries of this action.' }),
        ),
      },
      closed,
    ),
    responses: { 200: { description: 'A page of entries, newest first.', schema: AuditPage } },
    errors: ['organization_not_found'],
  }),
  listSignIns: operation({
    ...shared,
    needs: 'membership',
    method: 'GET',
    path: '/api/sign-ins',
    summary: "List the bearer's own sign-ins",
    responses: { 200: { description: 'The sign-ins that have not ended, last used first.', schema: SignInList } },
    errors: [],
  }),
  endSignIn: operation({
    ...shared,
    needs: 'membership',
    method: 'DELETE',
    path: '/api/sign-ins/{signInId}',
    summary: "End one of the bearer's own sign-ins",
    description: 'Its tokens are refused from the next request on. Ending a sign-in again changes nothing.',
    params: Type.Object({ signInId: Uuid }),
    responses: { 204: { description: 'The sign-in has ended.' } },
    errors: ['sign_in_not_found'],
  }),
} as const
