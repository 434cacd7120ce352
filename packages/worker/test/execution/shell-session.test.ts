import type { Event } from '@berth/contract'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

let test: TestService
beforeAll(async () => {
  test = await startTestService()
})
afterAll(() => test[Symbol.asyncDispose]())

const types = (events: readonly Event[]) => events.map(event => event.type)
const sequences = (events: readonly Event[]) => events.map(event => event.sequence)

describe('a shell session', () => {
  it('runs its first turn in a sandbox and records every fact once, in order', async () => {
    const session = await test.api.createSession({ runtime: 'shell' }, 'echo one; echo two >&2; pwd')
    const runId = session.activeRunId ?? ''
    const events = await test.api.runEnded(session.id, runId)
    expect(types(events)).toEqual([
      'svc.message.created',
      'svc.run.started',
      'svc.run.progress',
      'svc.run.progress',
      'svc.activity.completed',
      'svc.artifact.created',
      'svc.run.completed',
    ])
    expect(sequences(events)).toEqual([1, 2, 3, 4, 5, 6, 7])
    expect(events[4]?.data).toMatchObject({ kind: 'execute', status: 'succeeded', output: 'one\ntwo\n/workspace\n' })
    const run = await test.api.run(session.id, runId)
    expect(run).toMatchObject({ status: 'completed', attempts: 1, stopReason: 'completed' })
    expect(run.result?.summary).toContain('/workspace')
    const after = await test.api.session(session.id)
    expect(after.activeRunId).toBeUndefined()
    await until('a sealed run', async () => (await test.api.session(session.id)).phase === 'idle')
    expect(after).toMatchObject({
      workspace: { state: 'attached' },
      continuation: { canContinue: true, state: 'live' },
      lastEventSequence: 7,
    })
  })

  it('keeps its workspace from one turn to the next', async () => {
    const session = await test.api.createSession({ runtime: 'shell' }, 'echo kept > note')
    await test.api.runEnded(session.id, session.activeRunId ?? '')
    const { run } = await test.api.submitTurn(session.id, 'cat note')
    const events = await test.api.runEnded(session.id, run.id)
    expect(events.findLast(event => event.type === 'svc.activity.completed')?.data).toMatchObject({ output: 'kept\n' })
  })

  it('reports that a script failed, with the exit code of the script', async () => {
    const session = await test.api.createSession({ runtime: 'shell' }, 'echo before; exit 3')
    const events = await test.api.runEnded(session.id, session.activeRunId ?? '')
    expect(events.at(-1)).toMatchObject({
      type: 'svc.run.failed',
      data: { status: 'failed', stopReason: 'error', errorCode: 'shell_exit_nonzero' },
    })
  })

  it("hands a turn's files to the script, read-only", async () => {
    const session = await test.api.createSession({ runtime: 'shell' })
    const content = Buffer.from('täglich\n').toString('base64')
    const { turn, run } = await test.api.submitTurn(
      session.id,
      'cat .berth/inputs/0/note.txt; touch .berth/inputs/0/x 2>/dev/null && echo writable',
      { files: [{ name: 'note.txt', mediaType: 'text/plain', content }] },
    )
    expect(turn.files).toMatchObject([{ name: 'note.txt', mediaType: 'text/plain', sizeBytes: 9 }])
    const events = await test.api.runEnded(session.id, run.id)
    expect(events.find(event => event.type === 'svc.activity.completed')?.data).toMatchObject({ output: 'täglich\n' })
  })
})
