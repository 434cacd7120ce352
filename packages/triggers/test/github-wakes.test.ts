import { randomUUID } from 'node:crypto'
import type { PostedEvent } from '@berth/testing/git/github-events.ts'
import { postHook, signing } from '@berth/testing/posted-hooks.ts'
import { GitHubTriggers, type Hooked } from '@berth/testing/triggers/github-triggers.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let at: GitHubTriggers
let trigger: Hooked
let site: Awaited<ReturnType<GitHubTriggers['repository']>>
let other: Awaited<ReturnType<GitHubTriggers['repository']>>
let sessionId: string
beforeAll(async () => {
  at = await GitHubTriggers.start(stack)
  site = await at.repository()
  other = await at.repository()
  trigger = await at.make()
  ;({ sessionId } = await at.fire(trigger, site.events.comment('@berth mend it')))
  await at.published({ id: sessionId }, site.addPull('main'))
})
afterAll(() => stack.disposeAsync())

/** Lets the pull request be followed, and due in an hour. */
async function follow(): Promise<void> {
  const { database } = at.test.db
  await database.query('delete from follow_ups')
  await database.query(
    `insert into follow_ups (organization_id, session_id, publication_id, pull_number, pull_url, pull_title, pull_state,
       state, max_attempts, until, merge, causes, started_by_kind, started_by_id, due_at, created_at, updated_at)
     select organization_id, session_id, id, 20, 'https://x', 't', 'open', 'watching', 5, now() + interval '7 days', 'never',
       '{checks}', 'app_installation', $2, now() + interval '1 hour', now(), now()
     from publications where session_id = $1`,
    [sessionId, at.test.tenant.installationId],
  )
}

async function isDue(): Promise<boolean> {
  const { rows } = await at.test.db.database.query<{ due: boolean }>('select due_at <= now() as due from follow_ups')
  return rows[0]?.due === true
}

const event = (name: string, more: object = {}, of = site): PostedEvent => {
  const html_url = `${at.server.url}/${of.fullName}`
  const sender = { login: 'ann', type: 'User' }
  return { name, body: { repository: { id: of.id, full_name: of.fullName, html_url }, sender, ...more } }
}

describe('an event of GitHub', () => {
  it.each([
    ['check_suite', 'completed'],
    ['check_run', 'completed'],
    ['status', undefined],
    ['pull_request_review', 'submitted'],
    ['pull_request_review_comment', 'created'],
    ['issue_comment', 'created'],
    ['issues', 'unlabeled'],
    ['pull_request', 'closed'],
    ['pull_request', 'labeled'],
    ['pull_request', 'unlabeled'],
    ['pull_request', 'unassigned'],
    ['push', undefined],
  ])('makes what is followed in its repository due at once: %s %s', async (name, action) => {
    await follow()
    const posted = event(name, { action })
    expect((await at.post(trigger, posted)).status).toBeLessThan(300)
    expect(await isDue()).toBe(true)
    // The same one again changes nothing.
    expect((await at.post(trigger, posted)).status).toBeLessThan(300)
    expect(await isDue()).toBe(true)
  })

  it('changes nothing if it is of another repository, of another kind, or not of this GitHub', async () => {
    await follow()
    await at.post(trigger, event('push', {}, other))
    await at.post(trigger, event('star'))
    const elsewhere = { id: site.id, full_name: site.fullName, html_url: `https://github.example/${site.fullName}` }
    await at.post(trigger, event('push', { repository: elsewhere }))
    expect(await isDue()).toBe(false)
  })

  it('changes nothing if its signature does not hold', async () => {
    await follow()
    const { name, body } = event('push')
    const text = JSON.stringify(body)
    const headers = {
      ...signing.github('another secret', text),
      'x-github-event': name,
      'x-github-delivery': randomUUID(),
    }
    expect((await postHook(trigger.hook.url, text, headers)).status).toBe(401)
    expect(await isDue()).toBe(false)
  })

  it('changes nothing if the installation of its trigger has no grant for the repository', async () => {
    await follow()
    const { database } = at.test.db
    await database.query('update repository_grants set revoked_at = now() where repository_id = $1', [String(site.id)])
    await at.post(trigger, event('push'))
    expect(await isDue()).toBe(false)
    await database.query('update repository_grants set revoked_at = null where repository_id = $1', [String(site.id)])
  })
})
