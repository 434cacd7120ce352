import type { Session } from '@berth/contract'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { type OpenedStream, openStream } from '@berth/testing/events/stream.ts'
import { endedRun, messagesOf } from '@berth/testing/runs/ended-run.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const stack = new AsyncDisposableStack()
const secret = 'sk-preview-0123456789abcdef'
let test: TestService
beforeAll(async () => {
  const { runtimes } = stack.use(await scriptedRuntimes())
  const [scripted] = runtimes
  const withSecret = { ...scripted, id: 'with-secret', env: { API_KEY: secret } }
  test = stack.use(await startTestService({ config: { runtimes: [...runtimes, withSecret] } }))
})
afterAll(() => stack.disposeAsync())

interface Preview {
  readonly message?: { readonly messageId: string; readonly role: string; readonly text: string }
  readonly activities: readonly { readonly title: string; readonly kind: string }[]
}

const follow = (session: Session, key = test.api.key) =>
  openStream(`${test.url}/v1/sessions/${session.id}/previews`, { authorization: `Bearer ${key}` })

/** Reads previews until one is as wanted; returns all. */
async function readUntil(stream: OpenedStream, wanted: (preview: Preview) => boolean): Promise<Preview[]> {
  const previews: Preview[] = []
  for (;;) {
    const [frame] = await stream.take(1)
    if (frame?.data === undefined) throw new Error(`the stream ended after ${JSON.stringify(previews)}`)
    expect(frame.fields).toEqual(['data'])
    const preview: Preview = JSON.parse(frame.data)
    previews.push(preview)
    if (wanted(preview)) return previews
  }
}

const isEmpty = ({ message, activities }: Preview) => message === undefined && activities.length === 0
const go = (session: Session, name: string) => touch(test.db.database, test.dataDir, session, name)
const start = (script: string, runtime = 'scripted') => test.api.createSession({ runtime }, script)
const rows = async (session: Session) =>
  (
    await test.db.database.query<{ preview: string }>(
      'select preview from session_previews where session_id = $1 and preview is not null',
      [session.id],
    )
  ).rows

describe('a preview', () => {
  it('shows what is being said and which tool runs, until the log tells it', async () => {
    const session = await start('say hel\nwait /workspace/one\nsay lo\nopen Build it\nwait /workspace/two\nsay done')
    await using stream = await follow(session)
    const [speaking] = (await readUntil(stream, ({ message }) => message?.text === 'hel')).slice(-1)
    expect(speaking).toMatchObject({ message: { role: 'assistant', text: 'hel' }, activities: [] })
    expect(await test.api.events(session.id)).not.toContainEqual(
      expect.objectContaining({ type: 'svc.message.created', data: expect.objectContaining({ text: 'hel' }) }),
    )
    await go(session, 'one')
    const [working] = (await readUntil(stream, ({ activities }) => activities.length > 0)).slice(-1)
    expect(working?.message).toBeUndefined()
    expect(working?.activities).toMatchObject([{ title: 'Build it' }])
    await go(session, 'two')
    await readUntil(stream, isEmpty)
    const ended = await endedRun(test.api, session, session.activeRunId ?? '')
    expect(messagesOf(ended)).toMatchObject([{ text: 'hello' }, { text: 'done' }])
    // The Event has the id under which the preview showed it.
    expect(messagesOf(ended)[0]).toMatchObject({ messageId: speaking?.message?.messageId })
    await until('no preview', async () => (await rows(session)).length === 0)
  })

  it('is written for nobody', async () => {
    const session = await start('say hidden\nwait /workspace/one')
    await until('a running run', async () => (await test.api.session(session.id)).phase === 'running')
    await until('a begun message', async () => {
      const { rows: found } = await test.db.database.query(
        'select 1 from leases where session_id = $1 and state = $2',
        [session.id, 'attached'],
      )
      return found.length === 1
    })
    expect(await rows(session)).toEqual([])
    // Somebody who comes while the agent says nothing more sees what it has said.
    await using stream = await follow(session)
    await readUntil(stream, ({ message }) => message?.text === 'hidden')
    await go(session, 'one')
    await endedRun(test.api, session, session.activeRunId ?? '')
  })

  it('holds no secret, not even one that is being said', async () => {
    const session = await start('say it is \nleak API_KEY 4\nwait /workspace/one\nsay !', 'with-secret')
    await using stream = await follow(session)
    const seen = await readUntil(stream, ({ message }) => message?.text.includes('it is [secret]') === true)
    for (const preview of seen) {
      for (let length = 8; length <= secret.length; length += 1) {
        expect(JSON.stringify(preview)).not.toContain(secret.slice(0, length))
      }
    }
    await go(session, 'one')
    const ended = await endedRun(test.api, session, session.activeRunId ?? '')
    expect(messagesOf(ended)).toMatchObject([{ text: 'it is [secret]!' }])
  })

  it('is kept in a table that nothing replays and a crash empties', async () => {
    const { rows: tables } = await test.db.database.query(
      `select relpersistence from pg_class where relname = 'session_previews'`,
    )
    expect(tables).toEqual([{ relpersistence: 'u' }])
  })

  it('is not for another organization', async () => {
    const session = await test.api.createSession()
    const { api } = await test.newTenant()
    expect(outcome(await api.get(`/v1/sessions/${session.id}/previews`))).toBe('404 cloud_session_not_found')
  })
})
