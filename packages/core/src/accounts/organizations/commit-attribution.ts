import { type Queryable, queryOne } from '@berth/platform/storage/postgres/database.ts'

/** How an organization has the commits of its Publications attributed and signed. */
export interface Attribution {
  /** `person`: the person who asked. `app`: the deployment, and the person as a co-author. */
  readonly author: 'person' | 'app'
  /** Whether the author signs off. */
  readonly signOff: boolean
  /** `deployment`: by its key, if it has one. `host`: the Git host makes the commit, as the app, and signs it. */
  readonly signer: 'deployment' | 'host'
}

/** Returns how an organization has its commits attributed. */
export async function readAttribution(db: Queryable, organizationId: string): Promise<Attribution> {
  return await queryOne<Attribution>(db, {
    name: 'read-attribution',
    text: `
      select commit_author as author, commit_sign_off as "signOff", commit_signer as signer
      from organizations where id = $1`,
    values: [organizationId],
  })
}

/** Sets how an organization has its commits attributed, from the next Publication that is prepared. */
export async function setAttribution(tx: Queryable, organizationId: string, attribution: Attribution): Promise<void> {
  const { author, signOff, signer } = attribution
  await tx.query({
    name: 'set-attribution',
    text: 'update organizations set commit_author = $2, commit_sign_off = $3, commit_signer = $4 where id = $1',
    values: [organizationId, author, signOff, signer],
  })
}
