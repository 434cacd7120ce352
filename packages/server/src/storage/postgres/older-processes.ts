import { StartError } from '../../kit/start-error.ts'
import type { Queryable } from './database.ts'

/** First line of a migration that takes something away which processes of the release before need. */
const marker = '-- without older processes'

/** True if a migration must not run beside processes of an older release. */
export const needsThemEnded = (sql: string): boolean => sql.startsWith(`${marker}\n`)

interface HeardProcess {
  readonly id: string
  readonly release: string | null
  readonly heard: string
}

/**
 * Looks whether processes of an older release run on a database whose schema is not this release's yet. Every process that
 * was heard of there is one: a process writes its row in `processes` only once the schema is that of its release.
 */
export class OlderProcesses {
  readonly #heard = new Map<string, string>()

  /**
   * Returns false while one was heard of so recently that it may still run. Look again: it is silent by the end of its
   * patience, or heard of again.
   * @throws StartError if one was heard of since an earlier look
   */
  async haveEnded(db: Queryable): Promise<boolean> {
    const { rows: found } = await db.query<{ there: boolean }>("select to_regclass('processes') is not null as there")
    if (found[0]?.there !== true) return true
    const { rows } = await db.query<HeardProcess>(`
      select id, release, heard_at::text as heard from processes where heard_at + patience >= clock_timestamp() order by id`)
    const alive = rows.filter(({ id, heard }) => (this.#heard.get(id) ?? heard) !== heard)
    if (alive.length > 0) {
      const names = alive.map(({ id, release }) => (release === null ? id : `${id} (${release})`)).join(', ')
      throw new StartError(
        `this release's schema does not fit processes of an older one, and such processes still run: ${names}; stop every one of them, then start this release again (docs/production.md#upgrade)`,
      )
    }
    for (const { id, heard } of rows) this.#heard.set(id, heard)
    return rows.length === 0
  }
}
