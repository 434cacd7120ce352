import type { Queryable } from '../../storage/postgres/database.ts'

/** How an organization has the commits of its Publications attributed. */
export interface Attribution {
  /** `person`: the person who asked. `app`: the deployment, and the person as a co-author. */
  readonly author: 'person' | 'app'
  /** Whether the author signs off. */
  readonly signOff: boolean
}

/** Returns how an organization has its commits attributed. */
export async function readAttribution(db: Queryable, organizationId: string): Promise<Attribution> {
  const { rows } = await db.query<{ commit_author: Attribution['author']; commit_sign_off: boolean }>({
    name: 'read-attribution',
    text: 'select commit_author, commit_sign_off from organizations where id = $1',
    values: [organizationId],
  })
  const [row] = rows
  if (row === undefined) throw new Error('no organization')
  return { author: row.commit_author, signOff: row.commit_sign_off }
}

/** Sets how an organization has its commits attributed, from the next Publication that is prepared. */
export async function setAttribution(tx: Queryable, organizationId: string, attribution: Attribution): Promise<void> {
  const { author, signOff } = attribution
  await tx.query({
    name: 'set-attribution',
    text: 'update organizations set commit_author = $2, commit_sign_off = $3 where id = $1',
    values: [organizationId, author, signOff],
  })
}
