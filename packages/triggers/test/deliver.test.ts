import { randomUUID } from 'node:crypto'
import type { FollowUp, Publication, TriggerDelivery } from '@berth/contract'
import type { Context } from '@berth/core/context.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { DeliveryCrash } from '@berth/testing/faults/delivery-crash.ts'
import { fileAt, tipOf } from '@berth/testing/git/repositories.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { GitHubTriggers, type Hooked } from '@berth/testing/triggers/github-triggers.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimChanges, type DueChanges, releaseChanges } from '../src/deliver/changes-sql.ts'
import { bringFurther } from '../src/deliver/deliver-changes.ts'

const stack = new AsyncDisposableStack()
let at: GitHubTriggers
let context: Awaited<ReturnType<GitHubTriggers['processContext']>>
beforeAll(async () => {
  at = await GitHubTriggers.start(stack, {})
  context = await at.processContext()
})
afterAll(() => stack.disposeAsync())

const commentsOf = (id: number) => at.server.talk.comments.filter(({ repository }) => repository === id)
const pullsOf = (id: number) => at.server.pulls.filter(({ repository }) => repository === id)

/** A trigger whose script writes what the event says into a file. */
const make = (deliver: object, more: object = {}) =>
  at.make(
    {},
    {
      message:
        'cd /workspace/project\nprintf %s "{{event.kind}}" > made\nprintf "# Make it\\n\\nBecause it was asked for."',
      session: { runtime: 'shell' },
      deliver,
      ...more,
    },
  )

/** Fires a trigger and waits until its changes are published, or are not. */
async function fire(trigger: Hooked, event: Parameters<GitHubTriggers['fire']>[1]): Promise<TriggerDelivery> {
  const { key } = await at.fire(trigger, event)
  return until('the changes to have been published', async () => {
    const found = (await at.deliveries(trigger)).find(each => each.key === key)
    const { publication, report } = found ?? {}
    const isOver = ['published', 'unchanged', 'failed'].includes(publication?.state ?? '')
    return isOver && report?.told === 'delivered' && found
  })
}

const publicationsOf = async (sessionId: string) =>
  (await at.test.api.get<{ publications: Publication[] }>(`/v1/sessions/${sessionId}/publications`)).body.publications

const open: ReadonlySet<string> = new Set(['waiting', 'publishing'])
/** Times that only the process of a test takes for now. */
const held = '2098-01-01T00:00:00Z'
const by = { now: new Date('2099-01-01T00:00:00Z'), until: new Date('2099-01-02T00:00:00Z') }

/** Publishes the held changes as the worker of triggers does, in a world of its own. */
async function bringAll(world: Context): Promise<void> {
  for (let due: DueChanges | null; ; ) {
    due = await claimChanges(world.db, by, [])
    if (due === null) return
    const step = await bringFurther(world, due, new AbortController().signal)
    if (step.kind === 'not_now') throw new Error(step.errorCode)
    const { errorCode: deliver_error, state: deliver_state } = { errorCode: null, state: null, ...step }
    await releaseChanges(world.db, due, step.kind === 'further' ? step.columns : { deliver_error, deliver_state })
  }
}

describe('a trigger that delivers', () => {
  // It claims four times, records what came of it three times, brings the workspace back, and publishes.
  it.each([1, 2, 3, 4, 5, 6, 7, 8])('opens one pull request, although a process is killed after step %i', async n => {
    const site = await at.repository()
    const trigger = await make(
      { kind: 'pull_request' },
      { message: 'cd /workspace/project\nuntil [ -e ../go ]; do sleep 0.1; done\necho made > made' },
    )
    const { sessionId, key } = await at.fire(trigger, site.events.comment('@berth'))
    const { database } = at.test.db
    const move = (to: string) =>
      database.query('update trigger_deliveries set due_at = $2, claimed_until = null where key = $1', [key, to])
    await move(held)
    await touch(database, at.test.dataDir, await at.test.api.session(sessionId), 'go')
    await until('a sealed run', async () => (await at.test.api.session(sessionId)).phase === 'idle')
    const crash = new DeliveryCrash(n, 'dies')
    const world = { ...context, ...crash.world(context as never) } as Context
    const state = async () => (await at.deliveries(trigger))[0]?.publication?.state ?? ''
    for (let round = 0; round < 3 && !crash.signal.aborted && open.has(await state()); round++) {
      await until('the publication to end', async () => {
        return (await publicationsOf(sessionId)).every(({ completedAt }) => completedAt !== undefined)
      })
      await bringAll(world).catch(error => {
        if (!crash.signal.aborted) throw error
      })
    }
    expect(crash.signal.aborted).toBe(true)
    await move('epoch')
    await until('the changes to be published', async () => !open.has(await state()))
    expect(await state()).toBe('published')
    expect(await fileAt(site.gitDir, `svc/${sessionId}`, 'made')).toBe('made')
    expect(await publicationsOf(sessionId)).toHaveLength(1)
    expect(pullsOf(site.id)).toHaveLength(1)
  })

  it('opens a pull request with the changes of its Run, and later ones of the conversation go to the same', async () => {
    const site = await at.repository()
    const trigger = await make({ kind: 'pull_request', draft: true })
    const first = await fire(trigger, site.events.comment('@berth make it'))
    const [pull] = pullsOf(site.id)
    expect(pull).toMatchObject({ head: `svc/${first.sessionId}`, base: 'main', draft: true, title: 'Make it' })
    const { sessionUrl } = await at.test.api.session(first.sessionId)
    expect(pull?.body.startsWith(`Because it was asked for.\n\nFor #7.\nFrom ${sessionUrl}\n`)).toBe(true)
    expect(first.publication).toMatchObject({
      state: 'published',
      branch: `svc/${first.sessionId}`,
      pullRequest: { number: pull?.number },
    })
    const [comment] = commentsOf(site.id)
    expect(comment?.body).toContain(`[Pull request #${pull?.number}](`)

    const before = await tipOf(site.gitDir, `svc/${first.sessionId}`)
    const second = await fire(trigger, site.events.label('berth'))
    expect(second).toMatchObject({
      sessionId: first.sessionId,
      publication: { state: 'published', pullRequest: { number: pull?.number } },
    })
    expect(pullsOf(site.id)).toEqual([expect.objectContaining({ title: 'Make it' })])
    expect(await tipOf(site.gitDir, `svc/${first.sessionId}`)).not.toBe(before)
    expect(commentsOf(site.id)).toHaveLength(2)
  })

  it('says where it was asked that there is nothing to publish', async () => {
    const site = await at.repository()
    const trigger = await make({ kind: 'pull_request' }, { message: 'echo "Nothing to do."' })
    const { publication } = await fire(trigger, site.events.comment('@berth look'))
    expect(publication).toEqual({ state: 'unchanged' })
    expect(pullsOf(site.id)).toEqual([])
    expect(commentsOf(site.id).map(({ body }) => body)).toEqual([
      expect.stringContaining('There is nothing to publish: it changed no file.'),
    ])
  })

  it('publishes nothing of a Run that failed', async () => {
    const site = await at.repository()
    const trigger = await make({ kind: 'pull_request' }, { message: 'cd /workspace/project\necho x > made\nexit 3' })
    const { publication } = await fire(trigger, site.events.comment('@berth make it'))
    expect(publication).toMatchObject({ state: 'failed', errorCode: 'run_failed' })
    expect(pullsOf(site.id)).toEqual([])
  })

  it('shows why the host did not take it, there and in the comment', async () => {
    const site = await at.repository()
    const trigger = await make({ kind: 'pull_request', title: 'On {{event.repository}}' })
    at.server.fail({ when: new RegExp(`^POST /repositories/${site.id}/pulls`), answer: { status: 422 } })
    const { publication } = await fire(trigger, site.events.comment('@berth make it'))
    at.server.mend()
    expect(publication).toMatchObject({ state: 'failed', errorCode: 'pull_request_refused' })
    expect(commentsOf(site.id)[0]?.body).toContain('Its changes were not published: `pull_request_refused`.')
    const [{ sessionId } = { sessionId: '' }] = await at.deliveries(trigger)
    expect((await publicationsOf(sessionId)).map(({ title }) => title)).toEqual([`On ${site.fullName}`])
  })

  it('commits to the branch itself', async () => {
    const site = await at.repository()
    const before = await tipOf(site.gitDir, 'main')
    const trigger = await make({ kind: 'direct_branch' })
    const { publication } = await fire(trigger, site.events.comment('@berth make it'))
    expect(publication).toMatchObject({ state: 'published', branch: 'main' })
    const tip = await tipOf(site.gitDir, 'main')
    expect(tip).not.toBe(before)
    expect(commentsOf(site.id)[0]?.body).toContain(`Pushed to \`main\` as ${tip}.`)
  })

  it.each([
    ['true', 'published', ''],
    ['false', 'failed', 'Its changes were not published: `verification_failed` (`unit`).'],
  ])('is verified first: %s', async (command, state, text) => {
    const site = await at.repository()
    const { id } = await new Environments(at.test.api).make({ checks: [{ name: 'unit', run: command }] })
    const session = { runtime: 'shell', environment: { id } }
    const trigger = await make({ kind: 'pull_request', verified: true, followUp: { maxAttempts: 2 } }, { session })
    const { publication, sessionId } = await fire(trigger, site.events.comment('@berth make it'))
    expect(publication).toMatchObject({ state, verificationId: expect.any(String) })
    expect(pullsOf(site.id)).toHaveLength(state === 'published' ? 1 : 0)
    expect(commentsOf(site.id)[0]?.body).toContain(text)
    const path = `/v1/sessions/${sessionId}/publications/${publication?.id ?? randomUUID()}/follow-up`
    const { followUp } = (await at.test.api.get<{ followUp?: FollowUp }>(path)).body
    expect(followUp?.maxAttempts).toBe(state === 'published' ? 2 : undefined)
  })

  it.each([
    [
      { deliver: { kind: 'direct_branch', draft: true }, hook: { scheme: 'github', github: { on: ['label'] } } },
      'draft',
    ],
    [{ deliver: { kind: 'pull_request' } }, undefined],
    [{ deliver: { kind: 'merge' } }, 'kind'],
  ])('is refused with %j', async (more, member) => {
    const body = { name: 'n', message: 'm', ...more }
    const answer = await at.test.api.put<{ issues: { path: string[] }[] }>(`/v1/triggers/${randomUUID()}`, body)
    expect(outcome(answer)).toBe('400 invalid_request')
    expect(answer.body.issues[0]?.path).toEqual(['deliver', ...(member === undefined ? [] : [member])])
  })
})
