import { decodeCursor, pageOf } from '@berth/platform/kit/list-cursor.ts'
import { refusal } from '@berth/platform/kit/refusal.ts'
import type { Context } from '../context.ts'
import type { Handlers } from '../http/routing/handler.ts'
import type { Principal } from '../identity/guard/principal.ts'
import { findActiveGrant } from './active-grant.ts'
import { grantWhole } from './expand-grants.ts'
import { toGrant } from './grant.ts'
import { type Grantee, listGrants } from './grant-sql.ts'
import { pageRepositories } from './page-repositories.ts'

/** The name of the list of grants in its cursors. */
const GRANTS = 'repository-grants'

type Operations = 'listRepositories' | 'listRepositoryGrants' | 'getActiveRepositoryGrant'

/** Serves repositories and grants over HTTP. */
export function repositoryHandlers(context: Context): Pick<Handlers, Operations> {
  return {
    listRepositories: async ({ principal, query }) => ({
      status: 200,
      body: await pageRepositories(context, granteeOf(principal), query),
    }),
    listRepositoryGrants: async ({ principal, query: { limit, cursor } }) => {
      const before = cursor === undefined ? null : readCursor(cursor)
      const missing = before === null ? await grantWhole(context, granteeOf(principal)) : []
      const rows = await listGrants(context.db, granteeOf(principal), before, limit + 1)
      const { page, ...more } = pageOf(GRANTS, rows, limit, row => row.created_at)
      const body = { grants: page.map(toGrant), ...more, ...(missing.length > 0 && { missing }) }
      return { status: 200, body }
    },
    getActiveRepositoryGrant: async ({ principal, params }) => {
      const grant = await findActiveGrant(context.db, granteeOf(principal), params.grantId)
      if (grant === null) throw refusal('cloud_repository_grant_not_found')
      return { status: 200, body: { grant: toGrant(grant) } }
    },
  }
}

/** The guard has refused every caller of these operations that is not an installation. */
const granteeOf = ({ organizationId, id }: Principal): Grantee => ({ organizationId, installationId: id })

/**
 * Reads a cursor of the list of grants.
 * @throws ApiError 400 `invalid_input` if no page gave it
 */
function readCursor(text: string): ReturnType<typeof decodeCursor> {
  try {
    return decodeCursor(GRANTS, text)
  } catch {
    throw refusal('invalid_input', {
      issues: [{ path: ['cursor'], message: 'is not a cursor that a page of this list gave' }],
    })
  }
}
