import type { FollowUp, TurnPage } from '@berth/contract'
import type { PostedEvent } from '@berth/testing/git/github-events.ts'
import { commitTo, fileAt, tipOf } from '@berth/testing/git/repositories.ts'
import { GitHubTriggers, type Hooked } from '@berth/testing/triggers/github-triggers.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
let at: GitHubTriggers
beforeAll(async () => {
  at = await GitHubTriggers.start(stack, {})
})
afterAll(() => stack.disposeAsync())

/** Makes a mistake at first, which the log of the check tells of; then does what the review asks for, and says so. */
const agent = `cd /workspace/project
case "\${FOLLOW_UP_CAUSE:-}" in
  '') echo mistake > made;;
  checks) case "$FOLLOW_UP_TEXT" in *'made is wrong'*) echo mended > made;; esac;;
  reviews) case "$FOLLOW_UP_TEXT" in *'Say hello'*) echo hello >> made; echo '[1] It says hello now.';; esac;;
esac`

it('carries an issue of GitHub through a red check and a review to its merge', async () => {
  const { server } = at
  const site = await at.repository()
  const { id } = site
  server.checks.byProtection = ['unit']
  const author = { user: { login: 'eve' }, author_association: 'NONE' }
  const issue = { repository: id, number: 7, title: 'It hangs', body: 'When I press it.', referredBy: [], ...author }
  server.talk.issues.push({ ...issue, html_url: `${server.url}/${site.fullName}/issues/7` })
  const deliver = { kind: 'pull_request', followUp: { maxAttempts: 3, merge: 'when_ready' } }
  const trigger = await at.make(
    { on: ['issue_assigned', 'check_failed', 'review'] },
    { message: agent, session: { runtime: 'shell' }, deliver },
  )
  const { sessionId } = await at.fire(trigger, site.events.assigned('berth'))
  const path = await followUpPath(trigger)
  const read = async () => (await at.test.api.get<{ followUp?: FollowUp }>(path)).body.followUp
  const followUpWith = async (attempts: number, state = 'watching') => {
    const followUp = await read()
    return followUp?.attempts === attempts && followUp.state === state && followUp
  }
  const first = await until('the pull request to be followed', () => followUpWith(0))
  const { number } = first.pullRequest
  const post = async (event: PostedEvent) => expect((await at.post(trigger, event)).status).toBeLessThan(300)
  const branch = `svc/${sessionId}`

  // A red check, whose log is behind a redirect of the host.
  const red = first.headSha ?? ''
  server.actions.run(id, red, 'unit', { conclusion: 'failure', log: 'compiling\nmade is wrong\n' })
  await post(site.events.check({ branch, oid: red }, { pull: number }))
  const mended = await until('the work on the check', () => followUpWith(1))
  expect(mended.history).toMatchObject([{ cause: 'checks', publicationId: expect.any(String) }])
  expect(mended.headSha).not.toBe(red)
  expect(await fileAt(site.gitDir, branch, 'made')).toBe('mended')
  const { turns } = (await at.test.api.get<TurnPage>(`/v1/sessions/${sessionId}/turns`)).body
  expect(turns[1]?.message).toContain('compiling\nmade is wrong')
  expect(server.actions.logCredentials).toEqual([null])

  // A review; the thread gets one answer.
  const review = { by: 'ann', comments: [{ path: 'made', line: 1, body: 'Say hello.' }] }
  server.reviews.review(id, number, review)
  const [question] = server.reviews.comments
  await post(site.events.review('changes_requested', null, number))
  const reviewed = await until('the work on the review', () => followUpWith(2))
  expect(reviewed.history[0]).toMatchObject({ cause: 'reviews' })
  expect(await fileAt(site.gitDir, branch, 'made')).toBe('mended\nhello')
  const answers = server.reviews.comments.slice(1)
  expect(answers).toEqual([expect.objectContaining({ in_reply_to_id: question?.id })])
  expect(answers[0]?.body).toMatch(/It says hello now\.\n\nPushed as [0-9a-f]{12}\.$/)

  // The required check and the reviewer agree.
  server.actions.run(id, reviewed.headSha ?? '', 'unit', { conclusion: 'success' })
  server.reviews.review(id, number, { by: 'ann', state: 'APPROVED' })
  await post(site.events.check({ branch, oid: reviewed.headSha ?? '' }, { pull: number, conclusion: 'success' }))
  await until('the merge', () => followUpWith(2, 'merged'))
  expect(await fileAt(site.gitDir, 'main', 'made')).toBe('mended\nhello')
  expect(server.pulls.filter(({ repository }) => repository === id)).toHaveLength(1)

  // One comment where it was asked for, and none on the pull request, which has no end to tell of.
  const comments = server.talk.comments.filter(({ repository }) => repository === id)
  expect(comments.map(comment => comment.issue)).toEqual([7])
  const types = (await at.test.api.events(sessionId)).map(({ type }) => type)
  expect(types.filter(type => type.startsWith('svc.followup.'))).toEqual([
    'svc.followup.started',
    'svc.followup.attempted',
    'svc.followup.attempted',
    'svc.followup.ended',
  ])
  // What the host told of has made no Turn beside those.
  expect((await at.test.api.get<TurnPage>(`/v1/sessions/${sessionId}/turns`)).body.turns).toHaveLength(3)
  await until('a sandbox that is given back', async () => {
    return (await at.test.api.session(sessionId)).workspace.state === 'expired'
  })
})

it('works for those whom the trigger names, beside those who may push, and for nobody else', async () => {
  const { server } = at
  const site = await at.repository()
  const trigger = await at.make(
    { on: ['comment', 'review'] },
    {
      message: `${agent}\necho "$FOLLOW_UP_TEXT" > told`,
      session: { runtime: 'shell' },
      deliver: { kind: 'pull_request', followUp: { people: ['Eve'] } },
    },
  )
  const { sessionId } = await at.fire(trigger, site.events.comment('@berth make it'))
  const path = await followUpPath(trigger)
  const read = async () => (await at.test.api.get<{ followUp?: FollowUp }>(path)).body.followUp
  const { people, pullRequest } = await until('the follow-up', read)
  expect(people).toEqual(['Eve'])
  server.talk.rights.set('mallory', 'read')
  for (const by of ['mallory', 'eve']) {
    server.reviews.review(site.id, pullRequest.number, { by, state: 'COMMENTED', body: `So says ${by}: mend it.` })
  }
  await at.post(trigger, site.events.review('commented', 'mend it', pullRequest.number, 'eve'))
  await until('the work on the review', async () => (await read())?.attempts === 1)
  const { turns } = (await at.test.api.get<TurnPage>(`/v1/sessions/${sessionId}/turns`)).body
  expect(turns[1]?.message).toContain('So says eve')
  expect(turns[1]?.message).not.toContain('mallory')
})

it('carries a pull request of GitHub whose base moves into a conflict to its merge', async () => {
  const { server } = at
  const site = await at.repository()
  const resolving = `cd /workspace/project
case "\${FOLLOW_UP_CAUSE:-}" in
  '') echo mine > shared;;
  conflicts) grep -q '^<<<<<<<' shared && printf 'theirs\\nmine\\n' > shared;;
esac`
  const deliver = { kind: 'pull_request', followUp: { maxAttempts: 3, merge: 'when_ready' } }
  const trigger = await at.make(
    { on: ['comment', 'check_failed'] },
    { message: resolving, session: { runtime: 'shell' }, deliver },
  )
  const { sessionId } = await at.fire(trigger, site.events.comment('@berth make it'))
  const path = await followUpPath(trigger)
  const when = (what: string, is: (followUp: FollowUp) => boolean) =>
    until(what, async () => {
      const { followUp } = (await at.test.api.get<{ followUp?: FollowUp }>(path)).body
      return followUp !== undefined && is(followUp) && followUp
    })
  const { headSha: first = '', pullRequest } = await when('the follow-up', ({ state }) => state === 'watching')
  await commitTo(site.gitDir, 'main', await tipOf(site.gitDir, 'main'), { shared: 'theirs\n' })
  await at.post(trigger, site.events.push('main'))

  const resolved = await when('the conflict to be resolved', it => it.attempts === 1 && it.state === 'watching')
  expect(resolved.history).toMatchObject([{ cause: 'conflicts', publicationId: expect.any(String) }])
  expect(await fileAt(site.gitDir, `svc/${sessionId}`, 'shared')).toBe('theirs\nmine')
  expect(resolved.headSha).not.toBe(first)
  const [, message = ''] = await at.messages(sessionId)
  expect(message).toContain('It conflicts with `main`.')
  const titles = (await at.test.api.events(sessionId)).map(({ data }) => (data as { title?: string }).title ?? '')
  expect(titles.find(title => title.startsWith('Merged main at '))).toMatch(/ into the workspace, with 1 conflict$/)

  server.actions.run(site.id, resolved.headSha ?? '', 'unit', { conclusion: 'success' })
  const check = { branch: `svc/${sessionId}`, oid: resolved.headSha ?? '' }
  await at.post(trigger, site.events.check(check, { pull: pullRequest.number, conclusion: 'success' }))
  await when('the merge', ({ state }) => state === 'merged')
  expect(await fileAt(site.gitDir, 'main', 'shared')).toBe('theirs\nmine')
})

async function followUpPath(trigger: Hooked): Promise<string> {
  const found = await until('the publication', async () => {
    const [delivery] = await at.deliveries(trigger)
    return delivery?.publication?.state === 'published' && delivery
  })
  return `/v1/sessions/${found.sessionId}/publications/${found.publication?.id}/follow-up`
}
