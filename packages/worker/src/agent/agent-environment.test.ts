import { expect, test } from 'vitest'
import { agentEnvironment, environmentWith } from './agent-environment.ts'

test.each([
  [[], 'localhost,127.0.0.1,::1'],
  [['https://models.example', 'http://10.0.0.7:9000'], 'localhost,127.0.0.1,::1'],
  [['http://127.0.0.1:9000'], 'localhost,::1'],
  [['http://localhost:9000', 'http://[::1]:9000'], '127.0.0.1'],
])('lets clients with %j under reach bypass the proxy for %j', (reach, direct) => {
  const environment = agentEnvironment(reach)
  expect(environment).toMatchObject({ NO_PROXY: direct, no_proxy: direct })
  const names = direct.replace('::1', '[::1]').replaceAll(',', '|')
  expect(environment['JAVA_TOOL_OPTIONS']?.split(' ')).toContain(`-Dhttp.nonProxyHosts=${names}`)
})

test('names the proxy in the variables that Java and Yarn read', () => {
  const environment = agentEnvironment([])
  const proxy = 'http://127.0.0.1:3128'
  expect(environment).toMatchObject({ HTTPS_PROXY: proxy, YARN_HTTP_PROXY: proxy, YARN_HTTPS_PROXY: proxy })
  const options = environment['JAVA_TOOL_OPTIONS']?.split(' ')
  for (const scheme of ['http', 'https'])
    expect(options).toEqual(expect.arrayContaining([`-D${scheme}.proxyHost=127.0.0.1`, `-D${scheme}.proxyPort=3128`]))
})

test("keeps Java's way to the proxy ahead of the options that an environment sets", () => {
  const added = { variables: { JAVA_TOOL_OPTIONS: '-Xmx1g' }, secrets: {}, exported: {}, path: [] }
  const platform = agentEnvironment([])['JAVA_TOOL_OPTIONS']
  const both = `${platform} -Xmx1g`
  expect(environmentWith([], added)['JAVA_TOOL_OPTIONS']).toBe(both)
  const exported = { JAVA_TOOL_OPTIONS: `${both} -Dx=y` }
  expect(environmentWith([], { ...added, exported })['JAVA_TOOL_OPTIONS']).toBe(`${both} -Dx=y`)
  expect(environmentWith([], { ...added, variables: {} })['JAVA_TOOL_OPTIONS']).toBe(platform)
})
