import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import type { Event, Interaction } from '@berth/contract'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { scriptedRuntimes } from '@berth/testing/agents/scripted-runtimes.ts'
import type { Api } from '@berth/testing/api/api.ts'
import { databaseUrl, startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

// Secrets of the deployment; no sandbox gets them.
const providerKey = `CANARYPR${randomBytes(13).toString('hex')}`
const databasePassword = `correct-horse-${randomBytes(6).toString('hex')}`
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const appKey = createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  .export({ type: 'pkcs8', format: 'pem' })
  .toString()
const masterKey = randomBytes(32).toString('base64')
const [, keyLine = '', ...keyLines] = appKey.trim().split('\n')
// A secret of one runtime's sandboxes; its name does not reveal that it is one.
const runtimeSecret = `given:${randomBytes(16).toString('hex')}`

const stack = new AsyncDisposableStack()
let service: TestService
let other: Api
beforeAll(async () => {
  const scripted = stack.use(await scriptedRuntimes())
  const [agent] = scripted.runtimes
  const shell = [insidePaths.node, `${insidePaths.bundles}/shell.js`]
  const config = {
    providers: [{ id: 'main', kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1', apiKey: providerKey, models: [] }],
    gitHosts: [{ kind: 'github', baseUrl: 'http://127.0.0.1:9', appId: '1', privateKey: appKey }],
    runtimes: [
      { id: 'shell-with-secret', command: shell, env: { GIVEN: { env: 'GIVEN' }, PLAIN: 'plain-words-of-the-file' } },
      agent,
    ],
  }
  service = stack.use(
    await startTestService({
      config,
      variables: { GIVEN: runtimeSecret, BERTH_MASTER_KEY: masterKey },
      url: db => databaseUrl(db).replace('@', `:${databasePassword}@`),
    }),
  )
  other = (await service.newTenant()).api
})
afterAll(() => stack.disposeAsync())

/** Guesses that reveal the secret if any of them comes back changed: every prefix and suffix, up to the whole. */
function guessesOf(secret: string): string[] {
  const lengths = [8, 9, Math.floor(secret.length / 2), secret.length - 1]
  const parts = lengths.flatMap(length => [secret.slice(0, length), secret.slice(-length)])
  return [...parts, secret]
}
const deployment = [providerKey, databasePassword, masterKey, keyLine, keyLines.at(-2) ?? '']
const guesses = [...deployment, runtimeSecret].flatMap(guessesOf)

const dataOf = (events: readonly Event[], type: string) =>
  events.filter(event => event.type === type).map(event => event.data as Record<string, unknown>)

async function run(api: Api, runtime: string, message: string) {
  const session = await api.createSession({ runtime }, message)
  const events = await api.runEnded(session.id, session.activeRunId ?? '')
  return { session, events, record: await api.run(session.id, session.activeRunId ?? '') }
}

describe('another organization that guesses the secrets of the deployment', () => {
  test('gets every output, summary and message back unchanged', async () => {
    for (let at = 0; at < guesses.length; at += 18) {
      const some = guesses.slice(at, at + 18)
      const script = `cat <<'THE END'\n${some.join('\n')}\nTHE END`
      const { events, record } = await run(other, 'shell', script)
      expect(dataOf(events, 'svc.activity.completed')[0]?.['output']).toBe(`${some.join('\n')}\n`)
      expect(dataOf(events, 'svc.message.created')[0]?.['text']).toBe(script)
      expect(record.result?.summary).toBe(some.join('\n'))
    }
    const { events } = await run(other, 'shell', `printf '%s' '${appKey}'`)
    expect(dataOf(events, 'svc.activity.completed')[0]?.['output']).toBe(appKey)
  })

  test('gets the names of presented files back unchanged', async () => {
    const names = guesses.filter(guess => !guess.includes('/')).slice(0, 20)
    const script = names.map(name => `touch -- '${name}'; berth-present -- '${name}'`).join('\n')
    const { session, events } = await run(other, 'shell', script)
    const artifactNames = dataOf(events, 'svc.artifact.created').map(data => data['name'])
    expect(artifactNames.filter(name => name !== 'summary.md')).toEqual(names)
    const listed = await other.get<{ artifacts: { name: string }[] }>(`/v1/sessions/${session.id}/artifacts`)
    expect(listed.body.artifacts.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
  })

  test("gets an agent's messages and actions, chunk by chunk, back unchanged", async () => {
    const script = guesses.flatMap(guess => [`say ${guess}`, `tool ${guess}`]).join('\n')
    const { events } = await run(other, 'scripted', script)
    const messages = dataOf(events, 'svc.message.created').filter(data => data['role'] === 'assistant')
    expect(messages.map(data => data['text'])).toEqual(guesses)
    expect(dataOf(events, 'svc.activity.completed').map(data => data['title'])).toEqual(guesses)
  })

  test('gets questions, titles and longer messages back unchanged', async () => {
    for (const title of guesses) {
      const session = await other.createSession({ runtime: 'shell', title })
      expect(session.title).toBe(title)
      const { body } = await other.call<{ session: { title: string } }>('PATCH', `/v1/sessions/${session.id}`, {
        title: `again ${title}`,
      })
      expect(body.session.title).toBe(`again ${title}`)
    }
    const question = guesses.slice(0, 18).join(' ')
    const ask = { message: question, requestedSchema: { type: 'object', properties: {} } }
    const session = await other.createSession({ runtime: 'scripted' }, `ask ${JSON.stringify(ask)}`)
    const waiting = await until('the question', async () => {
      const { body } = await other.get<{ interactions: Interaction[] }>(`/v1/sessions/${session.id}/interactions`)
      return body.interactions[0]
    })
    expect(waiting.request.questions?.[0]?.question).toBe(question)
    const opened = await other.eventsUntil(session.id, ({ type }) => type === 'svc.interaction.opened')
    expect(JSON.stringify(dataOf(opened, 'svc.interaction.opened'))).toContain(JSON.stringify(question).slice(1, -1))
    await other.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)

    const half = providerKey.slice(0, 20)
    const long = `: ${'x'.repeat(65_534 - half.length)}${providerKey}`
    const cut = await run(other, 'shell', long)
    expect(dataOf(cut.events, 'svc.message.created')[0]?.['text']).toBe(long.slice(0, 65_536))
  })
})

describe("a secret of one runtime's sandboxes", () => {
  test('is masked whole, and only in the log of its Sessions', async () => {
    const { session, events, record } = await run(service.api, 'shell-with-secret', 'echo "$GIVEN $PLAIN"')
    expect(dataOf(events, 'svc.activity.completed')[0]?.['output']).toBe('[secret] plain-words-of-the-file\n')
    expect(record.result?.summary).toBe('[secret] plain-words-of-the-file')

    const parts = guessesOf(runtimeSecret).slice(0, -1)
    const next = await service.api.submitTurn(session.id, `: ${parts.join(' ')} ${runtimeSecret}`)
    const after = await service.api.runEnded(session.id, next.run.id)
    expect(dataOf(after, 'svc.message.created').at(-1)?.['text']).toBe(`: ${parts.join(' ')} [secret]`)

    for (const [api, runtime] of [
      [other, 'shell'],
      [service.api, 'shell'],
    ] as const) {
      const elsewhere = await run(api, runtime, `echo ${runtimeSecret}`)
      expect(dataOf(elsewhere.events, 'svc.activity.completed')[0]?.['output']).toBe(`${runtimeSecret}\n`)
    }
  })
})

describe('our own credentials', () => {
  const key = `svc_cloud_live_${randomBytes(32).toString('base64url')}`

  test('are masked by their form in titles, derived and given', async () => {
    expect((await other.createSession({ runtime: 'shell' }, `: ${key}`)).title).toBe(': [secret]')
    const session = await other.createSession({ runtime: 'shell', title: `  two\nlines ${key}` })
    expect(session.title).toBe('  two\nlines [secret]')
    await other.call('PATCH', `/v1/sessions/${session.id}`, { title: key })
    expect((await other.session(session.id)).title).toBe('[secret]')
  })

  test('leave no part where a derived title is cut', async () => {
    const session = await other.createSession({ runtime: 'shell' }, `: ${'x'.repeat(40)} ${key}`)
    expect(session.title).toBe(`: ${'x'.repeat(40)} [secret]`)
  })
})
