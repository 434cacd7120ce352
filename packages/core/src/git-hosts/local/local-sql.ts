import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import type { CheckState } from './rules.ts'

export interface LocalRepositoryRow {
  readonly id: string
  readonly owner: string
  readonly name: string
}

export interface LocalPullRow {
  readonly repository_id: string
  readonly number: number
  readonly title: string
  readonly body: string
  readonly draft: boolean
  readonly state: 'open' | 'merged' | 'closed'
  readonly head_branch: string
  readonly base_branch: string
  /** The head when it was last seen. */
  readonly head_oid: string
  readonly merge_commit_oid: string | null
  readonly created_at: Date
}

export interface LocalRuleRow {
  readonly branch: string
  readonly required_checks: readonly string[]
}

/** Returns the ids of repositories by their paths, and makes ids for new ones. */
export async function identifyRepositories(
  db: Queryable,
  paths: readonly { readonly owner: string; readonly name: string }[],
): Promise<LocalRepositoryRow[]> {
  const values = [paths.map(path => path.owner), paths.map(path => path.name)]
  const known = `
    select r.id::text, r.owner, r.name from local_repositories r
    join unnest($1::text[], $2::text[]) as wanted (owner, name) using (owner, name)`
  const { rows } = await db.query<LocalRepositoryRow>(known, values)
  if (rows.length === paths.length) return rows
  await db.query(
    `insert into local_repositories (owner, name)
     select * from unnest($1::text[], $2::text[]) as wanted (owner, name)
     where not exists (select 1 from local_repositories r where (r.owner, r.name) = (wanted.owner, wanted.name))
     on conflict do nothing`,
    values,
  )
  return (await db.query<LocalRepositoryRow>(known, values)).rows
}

export async function findRepository(db: Queryable, id: string): Promise<LocalRepositoryRow | null> {
  const { rows } = await db.query<LocalRepositoryRow>(
    'select id::text, owner, name from local_repositories where id = $1::numeric',
    [id],
  )
  return rows[0] ?? null
}

export async function findRule(db: Queryable, repositoryId: string, branch: string): Promise<LocalRuleRow | null> {
  const { rows } = await db.query<LocalRuleRow>(
    'select branch, required_checks from local_branch_rules where repository_id = $1 and branch = $2',
    [repositoryId, branch],
  )
  return rows[0] ?? null
}

export async function listRules(db: Queryable, repositoryId: string): Promise<LocalRuleRow[]> {
  const { rows } = await db.query<LocalRuleRow>(
    'select branch, required_checks from local_branch_rules where repository_id = $1 order by branch',
    [repositoryId],
  )
  return rows
}

export async function putRule(db: Queryable, repositoryId: string, rule: LocalRuleRow): Promise<void> {
  await db.query(
    `insert into local_branch_rules (repository_id, branch, required_checks) values ($1, $2, $3)
     on conflict (repository_id, branch) do update set required_checks = excluded.required_checks`,
    [repositoryId, rule.branch, rule.required_checks],
  )
}

export async function deleteRule(db: Queryable, repositoryId: string, branch: string): Promise<void> {
  await db.query('delete from local_branch_rules where repository_id = $1 and branch = $2', [repositoryId, branch])
}

/** Lists the names of the checks that have succeeded on a commit. */
export async function listPassedChecks(db: Queryable, repositoryId: string, oid: string): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    "select name from local_checks where repository_id = $1 and commit_oid = $2 and state = 'success'",
    [repositoryId, oid],
  )
  return rows.map(row => row.name)
}

export async function listChecks(
  db: Queryable,
  repositoryId: string,
  oid: string,
): Promise<
  { readonly name: string; readonly state: CheckState; readonly output: string | null; readonly updated_at: Date }[]
> {
  const { rows } = await db.query<{ name: string; state: CheckState; output: string | null; updated_at: Date }>(
    'select name, state, right(output, 4000) as output, updated_at from local_checks where repository_id = $1 and commit_oid = $2 order by name',
    [repositoryId, oid],
  )
  return rows
}

export async function putCheck(
  db: Queryable,
  repositoryId: string,
  check: {
    readonly oid: string
    readonly name: string
    readonly state: CheckState
    readonly output: string | null
    readonly now: Date
  },
): Promise<void> {
  await db.query(
    `insert into local_checks (repository_id, commit_oid, name, state, output, updated_at) values ($1, $2, $3, $4, $5, $6)
     on conflict (repository_id, commit_oid, name) do update
       set state = excluded.state, output = excluded.output, updated_at = excluded.updated_at`,
    [repositoryId, check.oid, check.name, check.state, check.output, check.now],
  )
}

/** Returns what a check of a commit printed; null if that is not known. */
export async function readCheckOutput(
  db: Queryable,
  repositoryId: string,
  { oid, name }: { readonly oid: string; readonly name: string },
): Promise<string | null> {
  const { rows } = await db.query<{ output: string | null }>(
    'select output from local_checks where repository_id = $1 and commit_oid = $2 and name = $3',
    [repositoryId, oid, name],
  )
  return rows[0]?.output ?? null
}

const pullColumns =
  'repository_id::text, number, title, body, draft, state, head_branch, base_branch, head_oid, merge_commit_oid, created_at'

export async function findPull(db: Queryable, repositoryId: string, number: number): Promise<LocalPullRow | null> {
  const { rows } = await db.query<LocalPullRow>(
    `select ${pullColumns} from local_pulls where repository_id = $1 and number = $2`,
    [repositoryId, number],
  )
  return rows[0] ?? null
}

/** Returns the open pull request of two branches, on `local_pulls_open`. */
export async function findOpenPull(
  db: Queryable,
  repositoryId: string,
  branches: { readonly head: string; readonly base: string },
): Promise<LocalPullRow | null> {
  const { rows } = await db.query<LocalPullRow>(
    `select ${pullColumns} from local_pulls
     where repository_id = $1 and head_branch = $2 and base_branch = $3 and state = 'open'`,
    [repositoryId, branches.head, branches.base],
  )
  return rows[0] ?? null
}

/**
 * Inserts a pull request. The lock on the repository's row numbers its pull requests without a gap.
 * @returns null if one is open already
 */
export async function insertPull(
  tx: Queryable,
  pull: Omit<LocalPullRow, 'number' | 'state' | 'merge_commit_oid'>,
): Promise<LocalPullRow | null> {
  await tx.query('select 1 from local_repositories where id = $1 for update', [pull.repository_id])
  const { rows } = await tx.query<LocalPullRow>(
    `insert into local_pulls
       (repository_id, number, title, body, draft, state, head_branch, base_branch, head_oid, created_at)
     select $1, coalesce(max(number), 0) + 1, $2, $3, $4, 'open', $5, $6, $7, $8
     from local_pulls where repository_id = $1
     on conflict (repository_id, head_branch, base_branch) where state = 'open' do nothing
     returning ${pullColumns}`,
    [
      pull.repository_id,
      pull.title,
      pull.body,
      pull.draft,
      pull.head_branch,
      pull.base_branch,
      pull.head_oid,
      pull.created_at,
    ],
  )
  return rows[0] ?? null
}

/** A commit that a merge was about to move the base branch to, and the head that is in it. */
export interface MergeIntent {
  readonly commit_oid: string
  readonly head_oid: string
}

export async function intendMerge(db: Queryable, pull: LocalPullRow, intent: MergeIntent): Promise<void> {
  await db.query(
    `update local_pulls set merge_intents = jsonb_build_object($3::text, $4::text) || merge_intents
     where repository_id = $1 and number = $2`,
    [pull.repository_id, pull.number, intent.commit_oid, intent.head_oid],
  )
}

export async function listIntents(db: Queryable, pull: LocalPullRow): Promise<MergeIntent[]> {
  const { rows } = await db.query<MergeIntent>(
    `select i.key as commit_oid, i.value as head_oid from local_pulls, jsonb_each_text(merge_intents) i
     where repository_id = $1 and number = $2`,
    [pull.repository_id, pull.number],
  )
  return rows
}

/** Records the head of an open pull request as last seen. */
export async function moveHead(db: Queryable, pull: LocalPullRow, head: string): Promise<void> {
  await db.query("update local_pulls set head_oid = $3 where repository_id = $1 and number = $2 and state = 'open'", [
    pull.repository_id,
    pull.number,
    head,
  ])
}

/** Replaces the description of a pull request. */
export async function describePull(db: Queryable, repositoryId: string, number: number, body: string): Promise<void> {
  await db.query('update local_pulls set body = $3 where repository_id = $1 and number = $2', [
    repositoryId,
    number,
    body,
  ])
}

/** Records that an open pull request is merged. */
export async function closeMerged(db: Queryable, pull: LocalPullRow, merged: MergeIntent): Promise<void> {
  await db.query(
    `update local_pulls set state = 'merged', merge_commit_oid = $3, head_oid = $4
     where repository_id = $1 and number = $2 and state = 'open'`,
    [pull.repository_id, pull.number, merged.commit_oid, merged.head_oid],
  )
}
