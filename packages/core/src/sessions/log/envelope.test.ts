import { ownCredentials, Redactor } from '@berth/platform/kit/redactor.ts'
import { describe, expect, test } from 'vitest'
import { splitEnvelope } from './envelope.ts'

const now = new Date('2026-01-02T03:04:05.006Z')
const text = (draft: Parameters<typeof splitEnvelope>[0], redactor = ownCredentials) => {
  const { head, tail } = splitEnvelope(draft, 'the-session', now, redactor)
  return `${head}42${tail}`
}

describe('an envelope', () => {
  test('holds its fields in order, with the sequence between its head and its tail', () => {
    const written = text({ type: 'svc.run.started', runId: 'the-run', data: { status: 'running' } })
    const id = JSON.parse(written).id
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(written).toBe(
      `{"id":"${id}","type":"svc.run.started","createdAt":"2026-01-02T03:04:05.006Z","sequence":42,` +
        '"visibility":"public","subject":{"sessionId":"the-session","runId":"the-run"},"data":{"status":"running"}}',
    )
  })

  test('omits the run if there is none, and states its visibility', () => {
    const written = JSON.parse(text({ type: 'x', visibility: 'transcript', data: {} }))
    expect(written).toEqual({
      id: expect.any(String),
      type: 'x',
      createdAt: now.toISOString(),
      sequence: 42,
      visibility: 'transcript',
      subject: { sessionId: 'the-session' },
      data: {},
    })
  })

  test('escapes every character that could break a line or a frame', () => {
    const hostile = 'a\n\ndata: b\r\u0000\ud800 \u2028 "sequence":1'
    const written = text({ type: 'x', data: { hostile } })
    expect(written).not.toMatch(/[\n\r\0]/)
    expect(JSON.parse(written)).toMatchObject({ sequence: 42, data: { hostile } })
    expect(written.isWellFormed()).toBe(true)
  })

  test("holds none of its Session's secrets, in any value or name", () => {
    const redactor = new Redactor(['the-canary-itself'])
    const written = text({ type: 'x', data: { 'a the-canary-itself': [{ b: 'the-canary-itself' }] } }, redactor)
    expect(JSON.parse(written).data).toEqual({ 'a [secret]': [{ b: '[secret]' }] })
  })
})
