import { join } from 'node:path'
import { appendAudit, operator } from '@berth/core/accounts/audit/append.ts'
import { isBranchName } from '@berth/core/git/branch-name.ts'
import { GitHostError, type RepositoryRef } from '@berth/core/git-hosts/git-host.ts'
import { LocalHost } from '@berth/core/git-hosts/local/local-host.ts'
import type { BranchRule, Check, CheckState } from '@berth/core/git-hosts/local/rules.ts'
import { wakeFollowUps } from '@berth/core/sessions/follow-ups/follow-up-sql.ts'
import { wakeMerges } from '@berth/core/sessions/merges/merge-sql.ts'
import type { Clock } from '@berth/platform/kit/clock.ts'
import { StartError } from '@berth/platform/kit/start-error.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { type Variables, withDatabase } from './database.ts'

const MAX_CHECKS = 100

/**
 * Protects a branch of a repository in the data directory, and replaces its earlier rule.
 *
 * @param requiredChecks names of checks; null removes the rule
 * @throws StartError in one line, for an operator to correct
 */
export async function setBranchRule(
  variables: Variables,
  fullName: string,
  branch: string,
  requiredChecks: readonly string[] | null,
): Promise<void> {
  if (!isBranchName(branch)) throw new StartError(`${branch} is not a name that git takes for a branch`)
  const names = requiredChecks === null ? null : [...new Set(requiredChecks)]
  for (const name of names ?? []) requireCheckName(name)
  if (names !== null && names.length > MAX_CHECKS) throw new StartError(`a rule has at most ${MAX_CHECKS} checks`)
  await withRepository(variables, fullName, async (host, repository, { db, clock }) => {
    await host.setRule(repository, branch, names === null ? null : { requiredChecks: names })
    const about = {
      action: 'branch_rule.changed',
      target: `repository ${fullName}`,
      details: { branch, requiredChecks: names },
    }
    await appendAudit(db, { organizationId: null, actor: operator, outcome: 'done', ...about }, clock.now())
    await wakeMerges(db, { provider: host.kind, ...repository }, clock.now())
    await wakeFollowUps(db, { provider: host.kind, ...repository }, clock.now())
  })
}

/**
 * Lists the rules of a repository in the data directory.
 *
 * @throws StartError
 */
export function readBranchRules(variables: Variables, fullName: string): Promise<BranchRule[]> {
  return withRepository(variables, fullName, (host, repository) => host.listRules(repository))
}

/**
 * Records the result of a check of a commit, and replaces its earlier result.
 *
 * @throws StartError in one line, for an operator to correct
 */
export async function recordCheck(
  variables: Variables,
  fullName: string,
  check: { readonly oid: string; readonly name: string; readonly state: CheckState; readonly output?: string },
): Promise<void> {
  requireCheckName(check.name)
  await withCommit(variables, fullName, check.oid, async (host, repository, { db, clock, oid }) => {
    await host.recordCheck(repository, { ...check, oid })
    await wakeMerges(db, { provider: host.kind, ...repository }, clock.now())
    await wakeFollowUps(db, { provider: host.kind, ...repository }, clock.now())
  })
}

/**
 * Lists the recorded checks of a commit.
 *
 * @throws StartError
 */
export function readChecks(variables: Variables, fullName: string, oid: string): Promise<Check[]> {
  return withCommit(variables, fullName, oid, (host, repository, known) => host.listChecks(repository, known.oid))
}

function requireCheckName(name: string): void {
  if (name.trim() !== name || !/^\P{Cc}{1,255}$/u.test(name)) {
    throw new StartError(`${JSON.stringify(name)} is no name of a check: one line of 1 to 255 characters`)
  }
}

async function withCommit<Result>(
  variables: Variables,
  fullName: string,
  text: string,
  work: (host: LocalHost, repository: RepositoryRef, at: Deployment & { oid: string }) => Promise<Result>,
): Promise<Result> {
  const oid = text.toLowerCase()
  if (!/^[0-9a-f]{40}$/.test(oid))
    throw new StartError(`${text} is no commit id of 40 digits, as git rev-parse gives it`)
  return withRepository(variables, fullName, async (host, repository, deployment) => {
    if (!(await host.hasCommit(repository, oid))) throw new StartError(`${fullName} has no commit ${oid}`)
    return work(host, repository, { ...deployment, oid })
  })
}

interface Deployment {
  readonly db: Queryable
  readonly clock: Clock
}

function withRepository<Result>(
  variables: Variables,
  fullName: string,
  work: (host: LocalHost, repository: RepositoryRef, deployment: Deployment) => Promise<Result>,
): Promise<Result> {
  return withDatabase(variables, async (db, { dataDir, urls }, clock) => {
    const root = join(dataDir, 'repositories')
    const host = new LocalHost(db, clock, root, () => urls.consoleUrl)
    try {
      const repository = await host.findRepository(fullName)
      if (repository === null) throw new StartError(`there is no bare repository ${join(root, fullName)}.git`)
      return await work(host, repository, { db, clock })
    } catch (error) {
      throw error instanceof GitHostError ? new StartError(error.message, { cause: error }) : error
    }
  })
}
