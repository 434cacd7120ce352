import type { Environment, EnvironmentRevision } from '@berth/contract'
import { readEgressPolicy } from '../accounts/organizations/egress-policy.ts'
import { findGrantedNames } from '../repositories/granted-names.ts'
import { findPackagesFault } from '../runtimes/runtime-hosts.ts'
import { toArchive } from './archives/archive.ts'
import { readDocument } from './document.ts'
import type { EnvironmentRow, RevisionRow } from './environment-sql.ts'
import { listProposedHosts } from './proposed-hosts.ts'
import type { Documents } from './put-environment.ts'
import { toPin } from './secret-exposure.ts'
import { type WarningFacts, warningsOf } from './warnings.ts'

/** Returns the resources of an organization's environments, with the warnings that hold now. */
export async function toEnvironments(
  { db, clock, runtimes, catalog, openHosts }: Documents,
  organizationId: string,
  rows: readonly EnvironmentRow[],
): Promise<Environment[]> {
  const names = rows.flatMap(({ document }) => readDocument(document, []).repositories.map(entry => entry.repository))
  const granted = names.length === 0 ? null : await findGrantedNames(db, organizationId, names)
  const proposed = await listProposedHosts(
    db,
    organizationId,
    rows.map(({ id }) => id),
  )
  const runtimeVariables = runtimes.variables
  const newer = await catalog.newer()
  const wantPackages = rows.some(({ document }) => readDocument(document, []).packages.length > 0)
  const packagesFault = wantPackages ? await findPackagesFault(db, clock) : null
  const isGranted = (repository: string) => granted?.has(repository.toLowerCase()) === true
  const policy = await readEgressPolicy(db, organizationId)
  const facts = { runtimeVariables, isGranted, newer, packagesFault, policy, openHosts: openHosts ?? null }
  return rows.map(row => ({
    ...toEnvironment(row, { ...facts, environmentId: row.id }),
    proposedHosts: [...(proposed.get(row.id) ?? [])],
  }))
}

function toEnvironment(row: EnvironmentRow, facts: Omit<WarningFacts, 'idle'>): Omit<Environment, 'proposedHosts'> {
  const { id, name, revision, is_default, archived_at, created_at } = row
  const secrets = row.secrets.map(toPin)
  const document = readDocument(row.document, secrets)
  const archives = row.archives.map(toArchive)
  const idle = new Set(archives.filter((_, index) => row.archives[index]?.brings_nothing).map(({ archive }) => archive))
  return {
    id,
    name,
    revision,
    isDefault: is_default,
    archivedAt: archived_at?.toISOString() ?? null,
    document,
    archives,
    secrets,
    createdBy: { kind: row.created_by_kind, id: row.created_by_id },
    createdAt: created_at.toISOString(),
    warnings: warningsOf(document, row.secrets, { ...facts, idle }),
  }
}

/** Returns a revision as a list shows it. */
export function toRevision(row: RevisionRow): EnvironmentRevision {
  const secrets = row.secrets.map(toPin)
  return {
    revision: row.revision,
    createdAt: row.created_at.toISOString(),
    createdBy: { kind: row.created_by_kind, id: row.created_by_id },
    document: readDocument(row.document, secrets),
    secrets,
  }
}
