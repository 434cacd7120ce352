import type { Queryable } from '@berth/platform/storage/postgres/database.ts'

/** A comment of a review on a file of the head of its time. */
export interface LocalComment {
  readonly id: string
  readonly threadId: string
  readonly path: string
  readonly line: number | null
  readonly body: string
}

export interface LocalReviewRow {
  readonly id: string
  readonly author_id: string
  readonly author_name: string
  readonly written_by: 'person' | 'app_installation' | 'service'
  readonly state: 'approved' | 'changes_requested' | 'commented'
  readonly body: string
  readonly comments: readonly LocalComment[]
  readonly head_oid: string
  readonly created_at: Date
}

/** A pull request of a local repository. */
export interface LocalPullKey {
  readonly repositoryId: string
  readonly number: number
}

const columns = 'id, author_id, author_name, written_by, state, body, comments, head_oid, created_at'

/** Most reviews of a pull request that are read. */
const LATEST = 300

/** Writes a review, unless there is one with its id. */
export async function insertReview(db: Queryable, at: LocalPullKey, review: LocalReviewRow): Promise<boolean> {
  const { id, author_id, author_name, written_by, state, body, comments, head_oid, created_at } = review
  const { rowCount } = await db.query(
    `insert into local_reviews (repository_id, number, ${columns})
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict do nothing`,
    [
      ...[at.repositoryId, at.number, id, author_id, author_name, written_by, state, body],
      ...[JSON.stringify(comments), head_oid, created_at],
    ],
  )
  return rowCount > 0
}

export async function findReview(db: Queryable, at: LocalPullKey, id: string): Promise<LocalReviewRow | null> {
  const { rows } = await db.query<LocalReviewRow>(
    `select ${columns} from local_reviews where repository_id = $1 and number = $2 and id = $3`,
    [at.repositoryId, at.number, id],
  )
  return rows[0] ?? null
}

/** Lists the latest reviews of a pull request, oldest first. */
export async function listReviews(db: Queryable, at: LocalPullKey): Promise<LocalReviewRow[]> {
  const { rows } = await db.query<LocalReviewRow>(
    `select ${columns} from local_reviews where repository_id = $1 and number = $2
     order by position desc limit ${LATEST}`,
    [at.repositoryId, at.number],
  )
  return rows.toReversed()
}

/** Finds what the service itself wrote on a pull request since a time, by how it or its first comment begins. */
export async function findOwnReview(
  db: Queryable,
  at: LocalPullKey & { readonly since: Date },
  marker: string,
): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    `select id from local_reviews
     where repository_id = $1 and number = $2 and written_by = 'service' and created_at >= $3
       and (starts_with(body, $4) or starts_with(comments -> 0 ->> 'body', $4))
     order by position limit 1`,
    [at.repositoryId, at.number, at.since, marker],
  )
  return rows[0]?.id ?? null
}

/** Changes the body of a comment of the service's own; false if there is none. */
export async function editOwnReview(
  db: Queryable,
  { repositoryId, id }: { readonly repositoryId: string; readonly id: string },
  body: string,
): Promise<number | null> {
  const { rows } = await db.query<{ number: number }>(
    `update local_reviews set body = $3
     where repository_id = $1 and id = $2 and written_by = 'service' and comments = '[]' returning number`,
    [repositoryId, id, body],
  )
  return rows[0]?.number ?? null
}

/** Returns true if a person or installation wrote on a pull request of the repository. */
export async function hasReviewer(db: Queryable, repositoryId: string, authorId: string): Promise<boolean> {
  const { rows } = await db.query(
    `select 1 from local_reviews where repository_id = $1 and author_id = $2 and written_by <> 'service' limit 1`,
    [repositoryId, authorId],
  )
  return rows.length > 0
}
