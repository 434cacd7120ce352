import type { EnvironmentAuthor } from '@berth/contract'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { appendAudit } from '../accounts/audit/append.ts'
import type { EnvironmentKey } from './environment-sql.ts'

/** Records in the audit log who changed an environment. Its revisions tell what the document was before. */
export function recordChange(
  tx: Queryable,
  { organizationId, environmentId }: EnvironmentKey,
  { kind, id }: EnvironmentAuthor,
  action: 'environment.written' | 'environment.secret_written' | 'environment.secret_deleted',
  details: Readonly<Record<string, unknown>>,
  now: Date,
): Promise<void> {
  const actor = { kind: kind === 'installation' ? 'app_installation' : kind, id, name: null } as const
  const about = { action, target: `environment/${environmentId}`, details }
  return appendAudit(tx, { organizationId, actor, outcome: 'done', ...about }, now)
}
