import type { Event, Session } from '@berth/contract'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { until } from '../until.ts'

/** Reads a Session's log from its rows, for a test whose credential can no longer read. */
export async function logRows(db: Queryable, session: Session): Promise<Event[]> {
  const { rows } = await db.query<{ event: Event }>(
    'select envelope::json as event from events where session_id = $1 order by sequence',
    [session.id],
  )
  return rows.map(({ event }) => event)
}

/** Waits until the agent of a Session has finished the tool call of this title. */
export const toolDone = (db: Queryable, session: Session, title: string): Promise<boolean> =>
  until(`that the agent did ${title}`, async () =>
    (await logRows(db, session)).some(({ data }) => data['title'] === title),
  )

/** Waits until the only Run of a Session has ended and been sealed, and returns the final state of all that it had. */
export async function endRows(db: Queryable, session: Session) {
  const [run] = await until('the end of the run', async () => {
    const { rows } = await db.query<{ ended: string }>(
      `select concat_ws(' ', status, stop_reason, error_code) as ended from runs r
       where session_id = $1 and ended_at is not null and not exists (
         select 1 from executions e where e.session_id = r.session_id and e.task is not null)`,
      [session.id],
    )
    return rows.length > 0 && rows
  })
  const log = await logRows(db, session)
  const terminal = log.filter(({ type }) => /^svc\.run\.(completed|failed|cancelled|crashed)$/.test(type))
  const expired = log.filter(({ type }) => type === 'svc.interaction.expired')
  const sealed = await db.query('select 1 from checkpoints where session_id = $1', [session.id])
  return {
    ended: run?.ended,
    terminal: terminal.map(({ data }) => data['errorCode']),
    resolutions: expired.map(({ data }) => data['resolution']),
    sealed: sealed.rows.length,
  }
}

/** The end of a Run whose authority was revoked while it worked. */
export const revokedEnd = {
  ended: 'failed error authority_revoked',
  terminal: ['authority_revoked'],
  resolutions: [] as string[],
  sealed: 1,
}
