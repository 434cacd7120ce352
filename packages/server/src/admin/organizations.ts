import { appendAudit, operator } from '@berth/core/accounts/audit/append.ts'
import {
  changeOrganization,
  insertOrganization,
  listOrganizations,
  type Organization,
  type OrganizationChange,
} from '@berth/core/accounts/organizations/organization.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import { type Variables, withDatabase } from './database.ts'
import { requireName, translated } from './refused.ts'

/** Makes an organization without members. @throws StartError in one line, for an operator to correct */
export function createOrganization(variables: Variables, text: string): Promise<{ readonly id: string }> {
  const name = requireName(text)
  return withDatabase(variables, (db, _, clock) =>
    db.transaction(async tx => {
      const now = clock.now()
      const id = await insertOrganization(tx, name, now)
      const target = `organization/${id}`
      await appendAudit(
        tx,
        { organizationId: id, actor: operator, action: 'organization.created', target, outcome: 'done' },
        now,
      )
      return { id }
    }),
  )
}

/** Lists every organization of the deployment. @throws StartError */
export function readOrganizations(variables: Variables): Promise<readonly Organization[]> {
  return withDatabase(variables, listOrganizations)
}

/**
 * Suspends or resumes an organization, takes or gives its product access, or sets its rate.
 *
 * @throws StartError in one line, for an operator to correct
 */
export function setOrganization(variables: Variables, id: string, change: OrganizationChange): Promise<void> {
  if ('rate' in change && change.rate !== null) {
    for (const value of Object.values(change.rate)) {
      if (!Number.isInteger(value) || value < 1 || value > 1_000_000) {
        throw new StartError('a burst and a rate are whole numbers from 1 to 1000000')
      }
    }
  }
  return withDatabase(variables, (db, _, clock) =>
    translated(changeOrganization(db, id, change, operator, clock.now())),
  )
}
