import type { Environment, EnvironmentRevision } from '@berth/contract'
import { toArchive } from './archives/archive.ts'
import { readDocument } from './document.ts'
import type { EnvironmentRow, RevisionRow } from './environment-sql.ts'
import { warningsOf } from './warnings.ts'

/** Returns the environment resource. */
export function toEnvironment(row: EnvironmentRow): Environment {
  const { id, name, revision, is_default, archived_at, created_at } = row
  const secrets = row.secrets.map(({ name, version }) => ({ name, version }))
  const document = readDocument(row.document, secrets)
  return {
    id,
    name,
    revision,
    isDefault: is_default,
    archivedAt: archived_at?.toISOString() ?? null,
    document,
    archives: row.archives.map(toArchive),
    secrets,
    createdBy: { kind: row.created_by_kind, id: row.created_by_id },
    createdAt: created_at.toISOString(),
    warnings: warningsOf(document, row.secrets),
  }
}

/** Returns a revision as a list shows it. */
export function toRevision(row: RevisionRow): EnvironmentRevision {
  const secrets = [...row.secrets]
  return {
    revision: row.revision,
    createdAt: row.created_at.toISOString(),
    createdBy: { kind: row.created_by_kind, id: row.created_by_id },
    document: readDocument(row.document, secrets),
    secrets,
  }
}
