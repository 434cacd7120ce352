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
  readonly patience_ms: number
}

/**
 * Looks whether processes of an older release run on a database whose schema is not this release's yet. Every process that
 * was heard of there is one: a process writes its row in `processes` only once the schema is that of its release.
 */
export class OlderProcesses {
  readonly #heard = new Map<string, { readonly at: string; readonly since: number }>()

  /**
   * Returns false while one was heard of so recently that it may still run. Look again: it is silent by the end of its
   * patience, or heard of again. That is counted here as well, in case the database's clock was set back since.
   * @throws StartError if one was heard of since an earlier look
   */
  async haveEnded(db: Queryable): Promise<boolean> {
    const { rows: found } = await db.query<{ there: boolean }>("select to_regclass('processes') is not null as there")
    if (found[0]?.there !== true) return true
    const { rows } = await db.query<HeardProcess>(`
      select id, release, heard_at::text as heard, extract(epoch from patience)::float8 * 1000 as patience_ms
      from processes where heard_at + patience >= clock_timestamp() order by id`)
    const alive = rows.filter(({ id, heard }) => (this.#heard.get(id)?.at ?? heard) !== heard)
    if (alive.length > 0) {
      const names = alive.map(({ id, release }) => (release === null ? id : `${id} (${release})`)).join(', ')
      throw new StartError(
        `this release's schema does not fit processes of an older one, and such processes still run: ${names}; stop every one of them, then start this release again (docs/production.md#upgrade)`,
      )
    }
    const now = performance.now()
    const waited = rows.map(({ id, heard }) => {
      const { since } = this.#heard.get(id) ?? { since: now }
      this.#heard.set(id, { at: heard, since })
      return now - since
    })
    return rows.every(({ patience_ms: patience }, n) => (waited[n] ?? 0) > patience)
  }
}
