import { expect, test } from 'vitest'
import { agentEnvironment, environmentWith, setupVariables } from './agent-environment.ts'

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

test('names the authorities of a sandbox that has its own in every variable that programs read, and in no other', () => {
  const names = ['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE']
  const all = [...names, 'GIT_SSL_CAINFO', 'AWS_CA_BUNDLE', 'PIP_CERT', 'DENO_CERT']
  const plain = agentEnvironment([])
  const trusting = agentEnvironment([], true)
  for (const name of all)
    expect([plain[name], trusting[name]]).toEqual([undefined, expect.stringMatching(/^\/run\/berth\/trust\/certs/)])
  expect(
    Object.keys(trusting)
      .filter(name => !(name in plain))
      .toSorted(),
  ).toEqual(all.toSorted())
  expect(plain['JAVA_TOOL_OPTIONS']).not.toContain('trustStore')
  expect(trusting['JAVA_TOOL_OPTIONS']).toContain('-Djavax.net.ssl.trustStore=/run/berth/trust/truststore.jks')
})

test('an environment may name other authorities, and setup lacks the secrets that are not for it', () => {
  const added = { variables: { PIP_CERT: '/own' }, secrets: { A: 'a', B: 'b' }, exported: {}, path: [] }
  const trusting = { ...added, hasAuthority: true, outsideSetup: ['B'] }
  expect(environmentWith([], trusting)).toMatchObject({ PIP_CERT: '/own', A: 'a', B: 'b' })
  const setup = environmentWith([], setupVariables(trusting))
  expect([setup['A'], setup['B']]).toEqual(['a', undefined])
})
