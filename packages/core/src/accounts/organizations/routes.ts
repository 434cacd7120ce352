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

interface Asked {
  readonly principal: PersonPrincipal
  readonly clientAddress: string
  readonly params: { readonly organizationId: string }
}

/** The operations by which administrators manage their organization's people and read its audit log. */
export function organizationHandlers(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  authUrl: () => string,
): Pick<AccountHandlers, Operations> {
  const by = ({ principal, clientAddress }: Asked): By => ({
    actor: { kind: 'person', id: principal.id, name: null },
    address: clientAddress,
    now: clock.now(),
  })
  return {
    listMembers: async asked => {
      const members = await listMembers(db, ownOrganization(asked))
      return { status: 200, body: { success: true, members: members.map(toBody) } }
    },

    updateMember: async asked => {
      const key = { organizationId: ownOrganization(asked), membershipId: asked.params.membershipId }
      const member = await changeMember(db, key, asked.body, by(asked))
      return { status: 200, body: { success: true, member: toBody(member) } }
    },

    removeMember: async asked => {
      const key = { organizationId: ownOrganization(asked), membershipId: asked.params.membershipId }
      await removeMember(db, key, by(asked))
      return { status: 204 }
    },

    resetMember: async asked => {
      const key = { organizationId: ownOrganization(asked), membershipId: asked.params.membershipId }
      const { secondFactor = false } = asked.body
      const link = await resetMember(db, key, secondFactor, asked.principal.membershipId, by(asked))
      return {
        status: 201,
        body: { success: true, url: linkUrl(authUrl(), link), expiresAt: link.expiresAt.toISOString() },
      }
    },

    createInvitation: async asked => {
      const { email, role = 'member', permissions = [] } = asked.body
      const organizationId = ownOrganization(asked)
      const { membershipId } = asked.principal
      const link = await invite(db, { organizationId, email, role, permissions }, membershipId, by(asked))
      const [invitation] = await listInvitations(db, organizationId, clock.now(), email)
      if (invitation === undefined) throw new Error('an invitation was issued that is not there')
      return { status: 201, body: { success: true, invitation, url: linkUrl(authUrl(), link) } }
    },

    listInvitations: async asked => {
      const invitations = await listInvitations(db, ownOrganization(asked), clock.now())
      return { status: 200, body: { success: true, invitations } }
    },

    withdrawInvitation: async asked => {
      const organizationId = ownOrganization(asked)
      await withdrawInvitation(db, { organizationId, invitationId: asked.params.invitationId }, by(asked))
      return { status: 204 }
    },

    listAudit: async asked => {
      const page = await pageAudit({ db }, ownOrganization(asked), asked.query)
      return { status: 200, body: { success: true, ...page } }
    },
  }
}

/** Returns the organization of the path. @throws ApiError 404 if it is not the one of the token */
function ownOrganization({ principal, params }: Asked): string {
  requireOwn(principal, params.organizationId)
  return params.organizationId
}

const toBody = ({ personId, name, email, createdAt, permissions, ...member }: Member): MemberBody => ({
  ...member,
  permissions: [...permissions],
  person: { id: personId, name, email },
  createdAt: createdAt.toISOString(),
})
