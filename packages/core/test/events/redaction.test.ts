import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Event, Run } from '@berth/contract'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import { Api } from '@berth/testing/api/api.ts'
import { createTenant } from '@berth/testing/api/tenant.ts'
import { storedLog } from '@berth/testing/events/log-writer.ts'
import { destroySandboxes } from '@berth/testing/faults/destroy-sandboxes.ts'
import { keyOf } from '@berth/testing/runs/states.ts'
import { databaseUrl, testVariables } from '@berth/testing/services/service.ts'
import { type ServiceProcess, startServiceProcess } from '@berth/testing/services/service-process.ts'
import { createTestDatabase, type TestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** Holds every character that JSON escapes, so that each encoding spells it differently. */
const apiKey = `canary"${randomBytes(9).toString('hex')}\\${randomBytes(9).toString('hex')}`
const keyLines = Array.from({ length: 4 }, () => randomBytes(24).toString('base64'))
const privateKey = ['-----BEGIN PRIVATE KEY-----', ...keyLines, '-----END PRIVATE KEY-----', ''].join('\n')
const ownKey = `svc_cloud_live_${randomBytes(32).toString('base64url')}`
const env = { API_KEY: apiKey, SIGNING_SECRET: privateKey }

const stack = new AsyncDisposableStack()
let db: TestDatabase
let service: ServiceProcess
let api: Api
let dataDir: string
let variables: Record<string, string>
beforeAll(async () => {
  db = stack.use(await createTestDatabase())
  dataDir = await mkdtemp(join(tmpdir(), 'berth-redaction-'))
  stack.defer(() => rm(dataDir, { recursive: true, force: true }))
  stack.defer(() => destroySandboxes(dataDir))
  const scripted = stack.use(await scriptedRuntimes())
  const shell = { id: 'shell-with-secrets', command: [insidePaths.node, `${insidePaths.bundles}/shell.js`], env }
  const agent = { ...scripted.runtimes[0], id: 'agent-with-secrets', env }
  const missing = { id: 'missing', command: [`/${`${apiKey}/`.repeat(20)}`], env }
  const config = JSON.stringify({ runtimes: [shell, agent, missing] })
  await writeFile(join(dataDir, 'berth.json'), config, { mode: 0o600 })
  variables = { ...testVariables, BERTH_DATA_DIR: dataDir, DATABASE_URL: databaseUrl(db) }
  service = stack.use(await startServiceProcess(variables))
  api = new Api(service.url, (await createTenant(db.database)).apiKey)
})
afterAll(() => stack.disposeAsync())

/** Runs a first Turn to its end; returns every record of it as text, its last answer and its output. */
async function run(runtime: string, message: string) {
  const session = await api.createSession({ runtime, title: 'canary' }, message)
  const events = await api.runEnded(session.id, session.activeRunId ?? '')
  const record = await api.run(session.id, session.activeRunId ?? '')
  const stored = (await storedLog(db, keyOf(session))).map(({ envelope }) => envelope)
  return { events, record, written: [...stored, JSON.stringify(record)].join('\n') }
}

const dataOf = (events: readonly Event[], type: string) => events.findLast(event => event.type === type)?.data
const output = (events: readonly Event[]) => String(dataOf(events, 'svc.activity.completed')?.['output'])
const summary = (record: Run) => String(record.result?.summary)

/** Checks that a text holds no spelling of a secret. */
function expectNothingOf(text: string): void {
  for (const secret of [apiKey, privateKey.trim(), ...keyLines, ownKey]) {
    const once = JSON.stringify(secret).slice(1, -1)
    for (const form of [secret, once, JSON.stringify(once).slice(1, -1)]) expect(text).not.toContain(form)
  }
}

describe('a script that prints its secrets', () => {
  test.each([
    ['whole', 'printf "%s" "$API_KEY"', '[secret]'],
    [
      'in pieces',
      'printf "%s\\n" "$API_KEY" | fold -w 3 | while read -r piece; do printf "%s" "$piece"; sleep 0.01; done',
      '[secret]',
    ],
    ['amid a line', 'echo "key=$API_KEY;"', 'key=[secret];\n'],
    [
      'of several lines',
      'echo "$SIGNING_SECRET" | sed "s/^/  /"',
      `  -----BEGIN PRIVATE KEY-----\n${'  [secret]\n'.repeat(4)}  -----END PRIVATE KEY-----\n  \n`,
    ],
    [
      'as JSON, in JSON',
      `node='${insidePaths.node}'; $node -e 'console.log(JSON.stringify(JSON.stringify({ a: process.env.API_KEY })))'`,
      '"{\\"a\\":\\"[secret]\\"}"\n',
    ],
    [
      'and keys of ours',
      `own=${ownKey.slice(0, 20)}; printf "%s" "$own"; sleep 0.05; echo ${ownKey.slice(20)}`,
      '[secret]\n',
    ],
  ])('%s leaves none of them on record', async (_, script, shown) => {
    const { events, record, written } = await run('shell-with-secrets', script)
    expect(output(events)).toBe(shown)
    expect(summary(record)).toBe(shown.trimEnd())
    expectNothingOf(written)
  })

  test('leaves no part of them where its output is cut', async () => {
    const fill = 'head -c $((65536 - 20)) /dev/zero | tr "\\0" x'
    const { events, written } = await run('shell-with-secrets', `${fill}; printf "%s" "$API_KEY"; echo; echo end`)
    expect(dataOf(events, 'svc.activity.completed')).toMatchObject({ truncated: true })
    expect(output(events)).toMatch(/^x{60000,}$/)
    expect(written).not.toContain(apiKey.slice(0, 8))
  })

  test('leaves no part of them where its summary begins', async () => {
    const fill = 'head -c $((4096 - 20)) /dev/zero | tr "\\0" y'
    const { record, written } = await run('shell-with-secrets', `printf "%s" "$API_KEY"; ${fill}`)
    expect(summary(record)).toMatch(/^y{3000,}$/)
    expect(written).not.toContain(apiKey.slice(-8))
  })

  test('stays within the bound of its output, however short its secrets are', async () => {
    const script = 'for n in {1..3000}; do printf "%s" "$API_KEY"; done'
    const { events } = await run('shell-with-secrets', script)
    expect(Buffer.byteLength(output(events))).toBeLessThanOrEqual(64 * 1024)
    expect(output(events)).toMatch(/^(\[secret\]){1000,}$/)
  })
})

describe('an agent that prints its secrets', () => {
  test.each([1, 7, 1000])('in chunks of %i leaves none of them on record', async size => {
    const { events, record, written } = await run('agent-with-secrets', `say it is \nleak API_KEY ${size}\nsay !`)
    expect(dataOf(events, 'svc.message.created')).toMatchObject({ role: 'assistant', text: 'it is [secret]!' })
    expect(summary(record)).toBe('it is [secret]!')
    expectNothingOf(written)
  })
})

describe('a message that Berth truncates', () => {
  test('is masked before it is cut, so no part of a secret stays', async () => {
    const script = `say ${'x'.repeat(65_536 - 20)}\nleak API_KEY 7\nsay ${'y'.repeat(1000)}`
    const { events, written } = await run('agent-with-secrets', script)
    const { text, truncated } = dataOf(events, 'svc.message.created') ?? {}
    expect([String(text).replace(/^x+/, ''), truncated]).toEqual([`[secret]${'y'.repeat(12)}`, true])
    expect(written).not.toContain(apiKey.slice(0, 8))
  })
})

describe('an agent that asks with its secrets', () => {
  test('asks people without them', async () => {
    const requestedSchema = { type: 'object', properties: { key: { type: 'string', title: 'say %API_KEY%' } } }
    const ask = `ask ${JSON.stringify({ message: 'is it %API_KEY%?', requestedSchema })}`
    const session = await api.createSession({ runtime: 'agent-with-secrets' }, ask)
    const { text } = await until('the question', async () => {
      const answer = await api.get(`/v1/sessions/${session.id}/interactions`)
      return answer.text.includes('is it') && answer
    })
    expect(text).toContain('is it [secret]?')
    expectNothingOf(text)
    await api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
    await api.runEnded(session.id, session.activeRunId ?? '')
    expectNothingOf((await storedLog(db, keyOf(session))).map(({ envelope }) => envelope).join('\n'))
  })
})

describe('the log of the service', () => {
  test('holds none of them, wherever it cuts its lines', async () => {
    const { written } = await run('missing', 'anything')
    expectNothingOf(written)
    const logged = await until('the line of the runtime', () =>
      service.lines.find(line => line.includes('a runtime did not start')),
    )
    expect(logged).toContain('spawn /[secret]/[secret]')
    expectNothingOf(service.lines.join('\n'))
    expect(logged).not.toContain('canary')
  })

  test('holds none of them in data of others', async () => {
    await api.get(`/v1/sessions/${ownKey}`)
    await until('the line of the request', () => service.lines.some(line => line.includes('/v1/sessions/[secret]')))
    expectNothingOf(service.lines.join('\n'))
  })

  test("holds no spelling of the master key in the service's file", async () => {
    const key = Buffer.from(await readFile(join(dataDir, 'master.key'), 'utf8'), 'base64')
    for (const spelling of [key.toString('hex'), key.toString('base64url')]) {
      await api.get(`/v1/artifacts/${spelling}`)
      expect(service.lines.join('\n')).not.toContain(spelling)
    }
    await until('the lines of both requests', () => {
      return service.lines.filter(line => line.includes('/v1/artifacts/[secret]')).length === 2
    })
  })
})

describe('a configuration file with secrets in it', () => {
  const file = () => join(dataDir, 'berth.json')
  afterAll(() => chmod(file(), 0o600))

  test.each([0o640, 0o604, 0o620])('is refused with mode %o, and the refusal names the remedy', async mode => {
    await chmod(file(), mode)
    await expect(startServiceProcess(variables)).rejects.toThrow(
      `${file()}: runtimes[0].env holds a secret (API_KEY) and is open to others: chmod 600 it`,
    )
  })
})
