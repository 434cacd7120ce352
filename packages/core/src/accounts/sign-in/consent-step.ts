import { randomUUID } from 'node:crypto'
import { capabilities } from '@berth/contract'
import type { Clock } from '@berth/platform/kit/clock.ts'
import type { Database } from '@berth/platform/storage/postgres/database.ts'
import type { Interaction, Provider } from 'oidc-provider'
import { appendAudit } from '../audit/append.ts'
import { CLOUD_RESOURCE } from './clients.ts'
import { insertSignIn, listMembershipsToChoose, type MembershipToChoose } from './sign-in-sql.ts'

/** Returns the memberships that a request may be for: all live ones, or those of the organization that it names. */
export async function choicesOf(
  db: Database,
  { params }: Interaction,
  personId: string,
): Promise<readonly MembershipToChoose[]> {
  const { organization } = params
  const all = await listMembershipsToChoose(db, personId)
  return organization === undefined ? all : all.filter(choice => choice.organization_id === organization)
}

/** Who approves a sign-in, for which membership, and from where. */
export interface Approval {
  readonly person: { readonly id: string; readonly name: string }
  /** When the person's session began, in seconds of the epoch. */
  readonly began: number
  readonly membership: MembershipToChoose
  readonly address: string
  readonly userAgent: string | null
  /** It takes the place of the browser's last sign-in at this client, which nothing uses any more. */
  readonly replaces: boolean
}

/**
 * Makes the sign-in that a person approved, and the provider's grant of the same id.
 * @returns the id of the grant; null if the person's session has ended
 */
export async function approve(
  { db, clock }: { readonly db: Database; readonly clock: Clock },
  provider: Provider,
  interaction: Interaction,
  { person, began, membership, address, userAgent, replaces }: Approval,
): Promise<string | null> {
  const { client_id: client, scope } = interaction.params
  const clientId = String(client)
  const id = randomUUID()
  const grant = new provider.Grant({ accountId: person.id, clientId })
  grant.jti = id
  grant.addOIDCScope(String(scope ?? 'openid'))
  grant.addResourceScope(CLOUD_RESOURCE, capabilities.join(' '))
  const now = clock.now()
  const isMade = await db.transaction(async tx => {
    const signIn = { id, personId: person.id, began, membership, clientId, address, userAgent }
    if (!(await insertSignIn(tx, signIn, now))) return false
    const entry = {
      organizationId: membership.organization_id,
      actor: { kind: 'person', id: person.id, name: person.name },
      action: 'sign_in.started',
      target: `sign_in ${id}`,
      address,
      outcome: 'done',
      details: { clientId },
    } as const
    await appendAudit(tx, entry, now)
    return true
  })
  if (!isMade) return null
  await grant.save()
  if (replaces) await endReplaced(provider, interaction, clientId)
  return id
}

/** Ends the sign-in of a console that this one replaces: its back end has one for each browser, and keeps the newest. */
async function endReplaced(provider: Provider, { session }: Interaction, clientId: string): Promise<void> {
  if (session === undefined) return
  const found = await provider.Session.findByUid(session.uid)
  const { grantId, persistsLogout } = found?.authorizations?.[clientId] ?? {}
  if (grantId === undefined || persistsLogout) return
  const replaced = await provider.Grant.find(grantId)
  await replaced?.destroy()
}
