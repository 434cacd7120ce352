import type { Context } from '@berth/core/context.ts'
import { findGrantOf, type Grantee } from '@berth/core/repositories/grant-sql.ts'
import { wakeFollowUps } from '@berth/core/sessions/follow-ups/follow-up-sql.ts'
import { wakeMerges } from '@berth/core/sessions/merges/merge-sql.ts'
import { topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { textAt } from '../payload-field.ts'

/** Events of GitHub that tell something new of a pull request. */
const waking: ReadonlySet<string> = new Set([
  ...['check_run', 'check_suite', 'status'],
  ...['pull_request', 'pull_request_review', 'pull_request_review_comment', 'pull_request_review_thread'],
  ...['issue_comment', 'issues', 'push'],
])

/**
 * Makes workers look at once at what waits for a repository of GitHub, because of an event that GitHub has signed. Only a
 * repository that the trigger's installation is granted counts. Nothing of the event is believed beyond that: GitHub is
 * asked, so one that is lost, late or doubled changes nothing.
 * @param name the value of `X-GitHub-Event`
 */
export async function wakeOnEvent(
  { db, clock, wakeups }: Pick<Context, 'db' | 'clock' | 'wakeups'>,
  grantee: Grantee,
  name: string,
  body: unknown,
): Promise<void> {
  const repositoryId = textAt(body, 'repository.id')
  const address = URL.parse(textAt(body, 'repository.html_url') ?? '')
  if (!waking.has(name) || repositoryId === null || address === null) return
  const grant = await findGrantOf(db, grantee, { host: `github:${address.host}`, repositoryId })
  if (grant === null) return
  const at = { provider: grant.provider, repositoryId }
  await wakeFollowUps(db, at, clock.now())
  await wakeMerges(db, at, clock.now())
  if (name === 'push') wakeups.publish(topics.heads)
}
