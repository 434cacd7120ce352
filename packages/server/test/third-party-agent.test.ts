import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { geminiContents, geminiWire } from './support/gemini-wire.ts'
import { type ModelServer, startModelServer } from './support/model-server.ts'
import { startTestService, type TestService } from './support/service.ts'

const pkg = '/tmp/acp-try/gemini-cli/node_modules/@google/gemini-cli'
let model: ModelServer
let test: TestService
beforeAll(async () => {
  model = await startModelServer(geminiWire)
  const dir = await mkdtemp(join(tmpdir(), 'berth-gemini-'))
  await chmod(dir, 0o755)
  await writeFile(
    join(dir, 'settings.json'),
    JSON.stringify({
      privacy: { usageStatisticsEnabled: false },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    }),
  )
  test = await startTestService({
    variables: { BERTH_SANDBOX_MEMORY_BYTES: String(1024 ** 3) },
    config: {
      runtimes: [
        {
          id: 'gemini',
          command: ['node', `${pkg}/bundle/gemini.js`, '--acp', '--model', 'gemini-2.5-flash'],
          env: {
            GEMINI_API_KEY: 'a-scripted-key',
            GOOGLE_GEMINI_BASE_URL: model.origin,
            GEMINI_CLI_SYSTEM_SETTINGS_PATH: `${dir}/settings.json`,
            GEMINI_CLI_NO_RELAUNCH: 'true',
            NO_PROXY: 'localhost',
            no_proxy: 'localhost',
          },
          reach: [model.origin],
          mounts: [pkg, dir],
        },
      ],
    },
  })
})
afterAll(async () => {
  await test[Symbol.asyncDispose]()
  await model[Symbol.asyncDispose]()
})

describe('gemini', () => {
  it('works', async () => {
    model.script(
      {
        text: 'I will write it.',
        calls: [
          { name: 'write_file', args: { file_path: '/workspace/greeting.txt', content: 'hello from the model\n' } },
        ],
      },
      { text: 'Written.' },
    )
    const t0 = Date.now()
    const session = await test.api.createSession({ runtime: 'gemini' }, 'Please write a greeting.')
    const events = await test.api.runEnded(session.id, session.activeRunId ?? '').catch(e => {
      console.error(e)
      return test.api.events(session.id)
    })
    console.error(
      Date.now() - t0,
      JSON.stringify(
        events.map(e => [e.sequence, e.type, e.data]),
        null,
        1,
      ),
    )
    for (const r of model.requests)
      console.error(r.method, r.path, JSON.stringify(r.headers), JSON.stringify(geminiContents(r)).slice(0, 3000))
    for (const r of model.unexpected)
      console.error('UNEXPECTED', r.method, r.path, JSON.stringify(r.body).slice(0, 2000))
    const { rows } = await test.db.database.query('select id from leases')
    const { execSync } = await import('node:child_process')
    console.error(
      execSync(
        `find ${test.dataDir} -name '*journal*' | head; cp $(find ${test.dataDir}/leases -name journal -type f -size +1 | head -1) /tmp/acp-try/journal`,
      ).toString(),
      rows,
    )
    expect(events.length).toBeGreaterThan(4)
  })
})
