import type { Source } from '@berth/contract'
import type { SessionKey } from '@berth/platform/kit/session-key.ts'
import { type Queryable, queryRow } from '@berth/platform/storage/postgres/database.ts'
import type { Context } from '../context.ts'
import { findActiveGrant } from '../repositories/active-grant.ts'
import type { Mirrors } from '../repositories/mirrors.ts'
import type { Sources } from './sources.ts'

/**
 * Finds the repositories of Sessions by their rows and grants. It reads the grant each time, so a revocation takes
 * effect at once.
 */
export function repositorySources({ db, gitHosts }: Pick<Context, 'db' | 'gitHosts'>, mirrors: Mirrors): Sources {
  return {
    async find(key) {
      const pinned = await readPinned(db, key)
      if (pinned === null) return null
      const grantee = { organizationId: key.organizationId, installationId: pinned.owner_id }
      const grant = await findActiveGrant(db, grantee, pinned.source.grantId)
      const host = grant === null ? null : gitHosts.find(grant.host)
      if (grant === null || host === null) return 'revoked'
      const { baseBranch } = pinned.source
      const baseOid = pinned.brought ?? pinned.source.baseOid
      const repository = { account: grant.account, repositoryId: grant.repository_id }
      return { organizationId: key.organizationId, host, repository, baseBranch, baseOid }
    },
    mirror({ organizationId, host, repository, baseOid }, signal) {
      return mirrors.provide({ organizationId, host, repository, oid: baseOid }, signal)
    },
  }
}

interface Pinned {
  readonly source: Source
  readonly owner_id: string
  /** The commit with which the attached workspace is compared, if that is another one. */
  readonly brought: string | null
}

async function readPinned(db: Queryable, key: SessionKey): Promise<Pinned | null> {
  return await queryRow<Pinned>(db, {
    name: 'read-delivery-source',
    text: `
      select s.source, s.owner_id, l.brought ->> 'baseOid' as brought from sessions s
      left join leases l on l.organization_id = s.organization_id and l.session_id = s.id and l.ended_at is null
      where s.organization_id = $1 and s.id = $2 and s.source is not null`,
    values: [key.organizationId, key.sessionId],
  })
}
