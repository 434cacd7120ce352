import type { Source } from '@berth/contract'
import type { Context } from '../context.ts'
import { GitHostError } from '../git-hosts/git-host.ts'
import type { Sources } from './sources.ts'

interface Found {
  readonly source: Source | null
  readonly host: string | null
  readonly account: string | null
  readonly live: boolean | null
}

/** The repositories of Sessions by their rows and grants; a grant is looked at each time, so revocation bites at once. */
export function repositorySources({ db, gitHosts }: Pick<Context, 'db' | 'gitHosts'>): Sources {
  return {
    async find({ organizationId, sessionId }) {
      const { rows } = await db.query<Found>({
        name: 'find-delivery-source',
        text: `
          with recursive granted as (
            select s.source, s.owner_id, g.* from sessions s
            left join repository_grants g on g.id = (s.source ->> 'grantId')::uuid
            where s.organization_id = $1 and s.id = $2
            union all
            select granted.source, granted.owner_id, next.* from granted
            join repository_grants next on next.id = granted.replaced_by
          )
          select granted.source, c.host, c.account,
            granted.revoked_at is null and c.revoked_at is null and granted.installation_id = granted.owner_id as live
          from granted left join host_connections c on c.id = granted.connection_id
          where granted.replaced_by is null limit 1`,
        values: [organizationId, sessionId],
      })
      const [found] = rows
      if (found === undefined || found.source === null) return null
      const host = found.host === null ? null : gitHosts.find(found.host)
      if (host === null || found.account === null || found.live !== true) return 'revoked'
      const { repositoryId, baseBranch, baseOid } = found.source
      return { host, repository: { account: found.account, repositoryId }, baseBranch, baseOid }
    },
    async mirror({ host, repository }, signal) {
      const { url } = await host.access(repository, 'read', signal)
      if (!url.startsWith('/')) throw new GitHostError('unavailable', 'there is no mirror of the repository')
      return { gitDir: url, [Symbol.asyncDispose]: async () => undefined }
    },
  }
}
