import type { SessionKey } from '../../kit/session-key.ts'
import type { Queryable } from '../../storage/postgres/database.ts'
import { resumeRun } from '../runs/resume-run.ts'
import { hasOpenQuestion } from './interaction-sql.ts'

/** Resumes the Run once none of its questions is open. The caller holds the Session's lock. */
export async function resumeIfAnswered(tx: Queryable, key: SessionKey, runId: string, now: Date): Promise<void> {
  if (!(await hasOpenQuestion(tx, key))) await resumeRun(tx, key, runId, now)
}
