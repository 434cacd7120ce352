import type { Member as MemberBody } from '@berth/contract'
import type { Context } from '../../context.ts'
import type { AccountHandlers } from '../../http/routing/handler.ts'
import type { PersonPrincipal } from '../../identity/guard/principal.ts'
import { pageAudit } from '../audit/read-audit.ts'
import { linkUrl } from '../links/one-time-link.ts'
import { listInvitations, withdrawInvitation } from '../links/open-invitations.ts'
import { type By, changeMember, removeMember } from './change-member.ts'
import { invite } from './invite.ts'
import { listMembers, type Member } from './memberships.ts'
import { requireOwn } from './require-own.ts'
import { resetMember } from './reset-member.ts'

type Operations =
  | 'listMembers'
  | 'updateMember'
  | 'removeMember'
  | 'resetMember'
  | 'createInvitation'
  | 'listInvitations'
  | 'withdrawInvitation'
  | 'listAudit'

interface OrganizationRequest {
  readonly principal: PersonPrincipal
  readonly clientAddress: string
  readonly params: { readonly organizationId: string }
}

/** The operations by which administrators manage their organization's people and read its audit log. */
export function organizationHandlers(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  authUrl: () => string,
): Pick<AccountHandlers, Operations> {
  const by = ({ principal, clientAddress }: OrganizationRequest): By => ({
    actor: { kind: 'person', id: principal.id, name: null },
    address: clientAddress,
    now: clock.now(),
  })
  return {
    listMembers: async request => {
      const members = await listMembers(db, ownOrganization(request))
      return { status: 200, body: { success: true, members: members.map(toBody) } }
    },

    updateMember: async request => {
      const key = { organizationId: ownOrganization(request), membershipId: request.params.membershipId }
      const member = await changeMember(db, key, request.body, by(request))
      return { status: 200, body: { success: true, member: toBody(member) } }
    },

    removeMember: async request => {
      const key = { organizationId: ownOrganization(request), membershipId: request.params.membershipId }
      await removeMember(db, key, by(request))
      return { status: 204 }
    },

    resetMember: async request => {
      const key = { organizationId: ownOrganization(request), membershipId: request.params.membershipId }
      const { secondFactor = false } = request.body
      const link = await resetMember(db, key, secondFactor, request.principal.membershipId, by(request))
      return {
        status: 201,
        body: { success: true, url: linkUrl(authUrl(), link), expiresAt: link.expiresAt.toISOString() },
      }
    },

    createInvitation: async request => {
      const { email, role = 'member', permissions = [] } = request.body
      const organizationId = ownOrganization(request)
      const { membershipId } = request.principal
      const link = await invite(db, { organizationId, email, role, permissions }, membershipId, by(request))
      const [invitation] = await listInvitations(db, organizationId, clock.now(), email)
      if (invitation === undefined) throw new Error('an invitation was issued that is not there')
      return { status: 201, body: { success: true, invitation, url: linkUrl(authUrl(), link) } }
    },

    listInvitations: async request => {
      const invitations = await listInvitations(db, ownOrganization(request), clock.now())
      return { status: 200, body: { success: true, invitations } }
    },

    withdrawInvitation: async request => {
      const organizationId = ownOrganization(request)
      await withdrawInvitation(db, { organizationId, invitationId: request.params.invitationId }, by(request))
      return { status: 204 }
    },

    listAudit: async request => {
      const page = await pageAudit({ db }, ownOrganization(request), request.query)
      return { status: 200, body: { success: true, ...page } }
    },
  }
}

/** Returns the organization of the path. @throws ApiError 404 if it is not the one of the token */
function ownOrganization({ principal, params }: OrganizationRequest): string {
  requireOwn(principal, params.organizationId)
  return params.organizationId
}

const toBody = ({ personId, name, email, createdAt, permissions, ...member }: Member): MemberBody => ({
  ...member,
  permissions: [...permissions],
  person: { id: personId, name, email },
  createdAt: createdAt.toISOString(),
})
