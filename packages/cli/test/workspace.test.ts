import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendJson } from '@berth/client/testing'
import { afterAll, expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { ScriptedService, session } from './scripted-service.ts'

const cwd = mkdtempSync(join(tmpdir(), 'berth-cli-'))
afterAll(() => rmSync(cwd, { recursive: true }))

const expiresAt = '2026-01-01T01:00:00.000Z'

test('workspace attaches the workspace of a session, gives it back, and says when that would lose work', async () => {
  let sealed = true
  await using service = await ScriptedService.start(({ method, path }, response) => {
    if (method === 'PUT')
      sendJson(response, 200, { session: { ...session, workspace: { state: 'attached', expiresAt } } })
    else if (method !== 'DELETE') return undefined
    else if (sealed) response.writeHead(204).end()
    else sendJson(response, 409, { error: 'cloud_resume_unavailable' })
    expect(path).toBe(`/v1/sessions/${session.id}/workspace`)
    return 'answered'
  })
  const berth = async (...args: string[]) => {
    const it = new BerthProcess(['workspace', ...args], { cwd, env: service.env })
    return [await it.ended(), it.stdout, it.stderr]
  }
  expect(await berth('restore', session.id)).toEqual([
    0,
    `the workspace of session ${session.id} is attached until ${expiresAt}\n`,
    '',
  ])
  const given = `session ${session.id} holds no workspace; its next turn gets a fresh one with its work restored\n`
  expect(await berth('release', session.id)).toEqual([0, given, ''])
  const [code, out] = await berth('release', session.id, '--json')
  expect([code, JSON.parse(String(out)).id]).toEqual([0, session.id])
  sealed = false
  expect(await berth('release', session.id)).toEqual([1, '', expect.stringContaining('that run is not sealed')])
})
