import { expect, test } from 'vitest'
import { BerthError, createClient } from '../src/index.ts'
import { impatientPlatform } from './manual-clock.ts'
import { ScriptedApi, sendJson } from './scripted-api.ts'

const environment = { id: 'e', name: 'web', revision: 3 }

async function start(answer: { readonly status: number; readonly body: object }) {
  const seen: [line: string, ifMatch: string | undefined, body: unknown][] = []
  const api = await ScriptedApi.start({
    other: (request, response, body) => {
      const line = `${request.method} ${request.url}`
      seen.push([line, request.headers['if-match'], body === '' ? undefined : JSON.parse(body)])
      sendJson(response, answer.status, answer.body)
    },
  })
  const { platform } = impatientPlatform()
  const { environments } = createClient({ baseUrl: api.url, credential: 'key', platform })
  return { environments, seen, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() }
}

test('every operation on environments sends its method, path, revision and body', async () => {
  await using it = await start({ status: 200, body: { environment } })
  const { environments } = it
  await environments.list({ limit: 2, cursor: 'a/b', archived: 'only' })
  await environments.get('e')
  await environments.revisions('e', { before: 3, limit: 1 })
  expect(await environments.put('e', { name: 'web' }, 2)).toEqual({ environment, created: false })
  await environments.archive('e', 3)
  await environments.unarchive('e', 4)
  await environments.restore('e', 1, 5)
  await environments.putSecret('e', 'A_B', 'value', 6)
  await environments.deleteSecret('e', 'A_B', 7)
  await environments.setDefault('e')
  await environments.setDefault(null)
  expect(it.seen).toEqual([
    ['GET /v1/environments?limit=2&cursor=a%2Fb&archived=only', undefined, undefined],
    ['GET /v1/environments/e', undefined, undefined],
    ['GET /v1/environments/e/revisions?before=3&limit=1', undefined, undefined],
    ['PUT /v1/environments/e', '"2"', { document: { name: 'web' } }],
    ['DELETE /v1/environments/e', '"3"', undefined],
    ['POST /v1/environments/e/unarchive', '"4"', undefined],
    ['POST /v1/environments/e/revisions/1/restore', '"5"', undefined],
    ['PUT /v1/environments/e/secrets/A_B', '"6"', { value: 'value' }],
    ['DELETE /v1/environments/e/secrets/A_B', '"7"', undefined],
    ['PUT /v1/organization/default-environment', undefined, { id: 'e' }],
    ['PUT /v1/organization/default-environment', undefined, { id: null }],
  ])
})

test('an environment is created without a revision, and created says so', async () => {
  await using it = await start({ status: 201, body: { environment } })
  expect(await it.environments.put('e', { name: 'web' }, null)).toEqual({ environment, created: true })
  expect(it.seen).toEqual([['PUT /v1/environments/e', undefined, { document: { name: 'web' } }]])
})

test('a refusal keeps what it says of each member, and is not retried', async () => {
  const issues = [{ path: ['document', 'name'], message: 'is missing' }]
  await using it = await start({ status: 400, body: { error: 'environment_invalid', issues } })
  const refused: unknown = await it.environments.put('e', { name: '' }, 1).catch(failure => failure)
  expect(refused).toBeInstanceOf(BerthError)
  expect(refused).toMatchObject({ status: 400, code: 'environment_invalid', fields: { issues } })
  expect(it.seen).toHaveLength(1)
})
