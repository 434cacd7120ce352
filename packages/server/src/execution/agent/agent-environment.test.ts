import { expect, test } from 'vitest'
import { agentEnvironment } from './agent-environment.ts'

test.each([
  [[], 'localhost,127.0.0.1,::1'],
  [['https://models.example', 'http://10.0.0.7:9000'], 'localhost,127.0.0.1,::1'],
  [['http://127.0.0.1:9000'], 'localhost,::1'],
  [['http://localhost:9000', 'http://[::1]:9000'], '127.0.0.1'],
])('lets clients with %j under reach bypass the proxy for %j', (reach, direct) => {
  expect(agentEnvironment(reach)).toMatchObject({ NO_PROXY: direct, no_proxy: direct })
})
