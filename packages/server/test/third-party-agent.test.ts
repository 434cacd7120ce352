import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Event } from '@berth/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
vi.mock('../src/sandboxes/reach-policy.ts', async original => {
  const real = await original<any>()
  return { ...real, createReachPolicy: (reach: any) => { const p = real.createReachPolicy(reach); return (t: any) => { const v = p(t); console.error('PROXY', JSON.stringify(t), v.kind); return v } } }
})
import { geminiContents, geminiWire } from './support/gemini-wire.ts'
import { type ModelServer, startModelServer } from './support/model-server.ts'
import { startTestService, type TestService } from './support/service.ts'

const stack = new AsyncDisposableStack()
let model: ModelServer
let elsewhere: ModelServer
let test: TestService

beforeAll(async () => {
  model = stack.use(await startModelServer(geminiWire))
  elsewhere = stack.use(await startModelServer(geminiWire))
  const settings = await mkdtemp(join(tmpdir(), 'berth-gemini-'))
  stack.defer(() => rm(settings, { recursive: true, force: true }))
  await writeFile(join(settings, 'settings.json'), JSON.stringify(geminiSettings))
  await chmod(settings, 0o755)
  const bundle = dirname(fileURLToPath(import.meta.resolve('@google/gemini-cli/package.json')))
  const entry = (id: string, reach: readonly string[]) => ({
      id,
      name: 'Gemini CLI',
      command: ['sh', '-c', `mkdir -p ~/.gemini && cp ${settings}/settings.json ~/.gemini/ && exec node ${bundle}/bundle/gemini.js --acp --model gemini-2.5-flash`],
      env: { GEMINI_API_KEY: 'a-scripted-key', GOOGLE_GEMINI_BASE_URL: model.origin, GEMINI_CLI_NO_RELAUNCH: 'true' },
      reach,
      mounts: [bundle, settings],
  })
  test = stack.use(await startTestService({
    variables: { BERTH_SANDBOX_MEMORY_BYTES: String(1024 ** 3) },
    config: { runtimes: [entry('gemini', [model.origin]), entry('cut-off', [])] },
  }))
})
afterAll(() => stack.disposeAsync())

const geminiSettings = {
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  privacy: { usageStatisticsEnabled: false },
  security: { auth: { selectedType: 'gemini-api-key' } },
}

const show = (events: any[]) => console.error(events.map(e => JSON.stringify([e.sequence, e.type, e.data])).join('\n'))
describe('gemini', () => {
  it('works', async () => {
    model.script({ text: 'I will write it.', calls: [{ name: 'write_file', args: { file_path: '/workspace/greeting.txt', content: 'hello from the model\n' } }] }, { text: 'Written.' })
    const session = await test.api.createSession({ runtime: 'gemini' }, 'Please write a greeting.')
    show(await test.api.runEnded(session.id, session.activeRunId ?? ''))
    console.error(JSON.stringify(model.requests[0]?.headers))
    model.script({ calls: [{ name: 'run_shell_command', args: { command: `env | grep -i prox; cat greeting.txt; node -e "fetch('${elsewhere.origin}').then(async r => console.log(r.status, await r.text()), e => console.log(e))"`, description: 'Read the greeting' } }] }, { text: 'It says hello.' })
    const { run } = await test.api.submitTurn(session.id, 'What does it say?')
    show((await test.api.runEnded(session.id, run.id)).slice(8))
    console.error(JSON.stringify(geminiContents(model.requests.at(-1))))
    const { execSync } = await import('node:child_process')
    console.error(execSync(`ps -eo pid,rss,args | grep -a gemini.js | grep -v grep | cut -c1-150; cp $(find ${test.dataDir}/leases -name journal -type f -size +1 | head -1) /tmp/acp-try/journal`).toString())
    // resume
    const pids = execSync(`pgrep -f 'gemini.js --acp --model gemini-2.5-flash'`).toString().trim().split('\n')
    for (const pid of pids) { if ((await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')).includes(model.origin)) process.kill(Number(pid), 'SIGKILL') }
    model.script({ text: 'Back again.' })
    const t = await test.api.submitTurn(session.id, 'Are you back?')
    show((await test.api.runEnded(session.id, t.run.id)).slice(14))
    console.error(JSON.stringify(geminiContents(model.requests.at(-1))))
    execSync(`cp $(find ${test.dataDir}/leases -name journal -type f -size +1 | head -1) /tmp/acp-try/journal`)
    // fail
    model.script({ calls: [{ name: 'write_file', args: { nothing: 'x' } }, {name: 'no_such_tool', args: {}}] }, { text: 'Failed.' })
    const f = await test.api.submitTurn(session.id, 'Fail')
    show((await test.api.runEnded(session.id, f.run.id)).slice(17))
    execSync(`cp $(find ${test.dataDir}/leases -name journal -type f -size +1 | head -1) /tmp/acp-try/journal`)
    console.error('UNEXPECTED', JSON.stringify(model.unexpected).slice(0, 500), elsewhere.unexpected.length)
  })
  it('cut off', async () => {
    const n = model.requests.length
    const t0 = Date.now()
    const session = await test.api.createSession({ runtime: 'cut-off' }, 'Please write a greeting.')
    show(await test.api.runEnded(session.id, session.activeRunId ?? ''))
    console.error(Date.now() - t0, model.requests.length - n)
  })
})
