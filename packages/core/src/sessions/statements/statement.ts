import { hash } from 'node:crypto'
import { type AgentChange, type CheckResult, type Statement, statementTypes } from '@berth/contract'
import { sumModels } from '../../accounting/model-shares.ts'
import type { Context } from '../../context.ts'
import { findRevision } from '../../environments/environment-sql.ts'
import { digestAt, type LogDigest } from '../log/chain.ts'
import type { VerificationRow } from '../verifications/verification.ts'
import { digestsOfArtifacts, listRuntimes, newestApprovals, newestRuns } from './statement-sql.ts'

/** What a statement is on. */
export interface Signed {
  readonly publication: AgentChange['publication']
  /** The passed verification of the publication's revision. */
  readonly verification: VerificationRow
  readonly commit: string
  readonly tree: string
  /** The repository and the branch, for people. */
  readonly name: string
}

/** Collects the facts of a Session for a statement on its commit. No message, code or output is among them. */
export async function collectStatement(
  { db, runtimes }: Pick<Context, 'db' | 'runtimes'>,
  { publication, verification, commit, tree, name }: Signed,
  now: Date,
): Promise<Statement> {
  const key = { organizationId: verification.organization_id, sessionId: verification.session_id }
  const outputs = verification.results.flatMap(({ artifactId }) => artifactId ?? [])
  const log = await digestAt(db, key, null)
  const [runs, approvals, agents, models, digests] = await Promise.all([
    newestRuns(db, key),
    newestApprovals(db, key),
    listRuntimes(db, key),
    sumModels(db, key),
    digestsOfArtifacts(db, key, outputs),
  ])
  const usd = models.reduce((sum, { costUsd }) => sum + costUsd, 0)
  const predicate: AgentChange = {
    signedAt: now.toISOString(),
    session: { id: key.sessionId },
    publication,
    runs: [...runs.items],
    ...omitted('runsOmitted', runs),
    runtimes: agents.map(({ id, release }) => {
      const version = runtimes.find(id)?.version
      return { id, ...(version !== undefined && { version }), ...(release !== null && { release }) }
    }),
    models: models.map(({ unknown: _, ...model }) => ({
      ...model,
      ...(usd > 0 && { costShare: rounded(model.costUsd / usd) }),
    })),
    cost: { usd: rounded(usd), complete: models.every(({ unknown }) => unknown === 0) },
    environment: await environmentOf(db, verification),
    verification: {
      id: verification.id,
      ...(verification.started_at !== null && { startedAt: verification.started_at.toISOString() }),
      ...(verification.ended_at !== null && { completedAt: verification.ended_at.toISOString() }),
      checks: verification.results.map(result => toCheck(result, digests)),
    },
    approvals: [...approvals.items],
    ...omitted('approvalsOmitted', approvals),
    log: logOf(log),
  }
  return {
    _type: statementTypes.statement,
    subject: [
      { name, digest: { gitCommit: commit } },
      { name: `${name}^{tree}`, digest: { gitTree: tree } },
    ],
    predicateType: statementTypes.predicate,
    predicate,
  }
}

function omitted<Name extends string>(
  name: Name,
  { items, total }: { readonly items: readonly unknown[]; readonly total: number },
): { readonly [name in Name]?: number } {
  return total > items.length ? ({ [name]: total - items.length } as { readonly [name in Name]: number }) : {}
}

/** Returns an amount to a millionth, so that sums of binary fractions have no tail. */
const rounded = (amount: number): number => Math.round(amount * 1e6) / 1e6

async function environmentOf(
  db: Context['db'],
  { organization_id: organizationId, environment_id: environmentId, environment_revision }: VerificationRow,
): Promise<AgentChange['environment']> {
  const found = await findRevision(db, { organizationId, environmentId }, environment_revision)
  if (found === null) throw new Error('a verification names a revision of an environment that is not there')
  return { id: environmentId, revision: environment_revision, digest: { sha256: hash('sha256', found.document) } }
}

/** Returns the range of a log that its digest is of; of an old log that has none yet, the whole. */
function logOf(log: LogDigest | null): AgentChange['log'] {
  if (log === null) return { first: 1, last: 0 }
  const { beginsAt, sequence: last, digest } = log
  return { first: beginsAt ?? 1, last, ...(digest !== null && { digest: { sha256: digest } }) }
}

function toCheck(
  { name, required, state, exitCode, timedOut, durationMs, artifactId }: CheckResult,
  digests: ReadonlyMap<string, string>,
): AgentChange['verification']['checks'][number] {
  const sha256 = artifactId === undefined ? undefined : digests.get(artifactId)
  return {
    name,
    required,
    state,
    ...(exitCode !== undefined && { exitCode }),
    ...(timedOut !== undefined && { timedOut }),
    ...(durationMs !== undefined && { durationMs }),
    ...(sha256 !== undefined && { output: { sha256 } }),
  }
}
