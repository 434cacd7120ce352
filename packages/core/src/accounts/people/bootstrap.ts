import { randomUUID } from 'node:crypto'
import { permissions } from '@berth/contract'
import { StartError } from '@berth/platform/kit/start-error.ts'
import type { Database, Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendAudit, operator } from '../audit/append.ts'
import { type IssuedLink, issueReset } from '../links/one-time-link.ts'
import { insertMembership } from '../organizations/memberships.ts'
import { insertOrganization } from '../organizations/organization.ts'
import { insertPerson } from './person.ts'

/** The first administrator, and the link by which they choose a password. */
export interface Bootstrapped {
  readonly organizationId: string
  readonly personId: string
  readonly membershipId: string
  readonly link: IssuedLink
}

/** Returns whether a deployment has no organization yet. */
export async function isEmptyDeployment(db: Queryable): Promise<boolean> {
  const { rows } = await db.query('select 1 from organizations limit 1')
  return rows.length === 0
}

/**
 * Makes the first organization with its administrator.
 *
 * @throws StartError if the deployment has an organization already
 */
export function bootstrap(
  db: Database,
  first: { readonly organization: string; readonly email: string; readonly name: string },
  now: Date,
): Promise<Bootstrapped> {
  return db.transaction(async tx => {
    // Two who bootstrap at once would otherwise both find it empty.
    await tx.query('lock table organizations in exclusive mode')
    if (!(await isEmptyDeployment(tx))) {
      throw new StartError(
        'this deployment has an organization already; for a new link use berth admin person reset <email>',
      )
    }
    const organizationId = await insertOrganization(tx, first.organization, now)
    const personId = randomUUID()
    const { email, name } = first
    if (!(await insertPerson(tx, { id: personId, email, name, passwordHash: null }, now))) {
      throw new StartError(`somebody has the email ${email} already`)
    }
    const membershipId = await insertMembership(tx, { organizationId, personId, role: 'admin', permissions }, now)
    if (membershipId === null) throw new Error('the first person is a member already')
    const target = `membership/${membershipId}`
    await appendAudit(
      tx,
      { organizationId, actor: operator, action: 'organization.bootstrapped', target, outcome: 'done' },
      now,
    )
    return { organizationId, personId, membershipId, link: await issueReset(tx, personId, null, now) }
  })
}
