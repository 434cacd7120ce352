import { type Queryable, queryOne } from '@berth/platform/storage/postgres/database.ts'

/** How an organization has its pull requests followed. */
export interface FollowSettings {
  /** The label whose removal stops a follow-up; null: `berth`. */
  readonly label: string | null
  /** The login whose removal from the assignees stops it; null: `berth`, and that of every app. */
  readonly assignee: string | null
  /** By more commits the base may not be ahead of a pull request; null: by any number. */
  readonly baseCommits: number | null
}

/** Returns how an organization has its pull requests followed. */
export async function readFollowSettings(db: Queryable, organizationId: string): Promise<FollowSettings> {
  return await queryOne<FollowSettings>(db, {
    name: 'read-follow-settings',
    text: `
      select follow_label as label, follow_assignee as assignee, follow_base_commits as "baseCommits"
      from organizations where id = $1`,
    values: [organizationId],
  })
}

/** Sets it, from the next step of each follow-up on. */
export async function setFollowSettings(
  tx: Queryable,
  organizationId: string,
  { label, assignee, baseCommits }: FollowSettings,
): Promise<void> {
  await tx.query({
    name: 'set-follow-settings',
    text: 'update organizations set follow_label = $2, follow_assignee = $3, follow_base_commits = $4 where id = $1',
    values: [organizationId, label, assignee, baseCommits],
  })
}
