import { describe, expect, test } from 'vitest'
import { StartError } from '../kit/start-error.ts'
import type { Fixed } from './fixed.ts'
import { describeSettings, listeningOn, loadSettings } from './settings.ts'

const nothing = (): undefined => undefined

function load(variables: Record<string, string>, file?: unknown, fixed: Partial<Fixed> = {}) {
  const text = file === undefined ? undefined : typeof file === 'string' ? file : JSON.stringify(file)
  const readFile = (path: string) => (path === '/data/berth.json' ? text : undefined)
  return loadSettings({ BERTH_DATA_DIR: '/data', ...variables }, readFile, () => false, fixed)
}

function refusal(variables: Record<string, string>, file?: unknown): string {
  try {
    load(variables, file)
  } catch (error) {
    if (error instanceof StartError) return error.message
    throw error
  }
  throw new Error('the settings were accepted')
}

describe('the environment', () => {
  test('may be empty', () => {
    const settings = loadSettings({}, nothing)
    expect(settings).toMatchObject({
      listener: { host: '127.0.0.1', port: 4100, loopback: true },
      urls: { baseUrl: 'http://127.0.0.1:4100', consoleUrl: 'http://127.0.0.1:4100' },
      production: false,
      limits: { authority: { burst: 120, perMinute: 600 } },
      leases: { idleMs: 900_000, maxMs: 14_400_000, stopGivesBack: true },
      config: { providers: [], models: { aliases: {} }, runtimes: [], gitHosts: [] },
    })
    expect(settings.dataDir).toMatch(/\/\.berth$/)
    expect([...settings.roles]).toEqual(['api', 'account', 'gateway', 'worker'])
  })

  test('sets the settings that it names, and an empty variable sets nothing', () => {
    const settings = load({
      BERTH_HOST: '::',
      BERTH_PORT: '0',
      BERTH_AUTH_URL: 'https://auth.example/berth/',
      BERTH_ROLES: 'worker, api',
      BERTH_BLOBS: 'file:///var/blobs',
      BERTH_MASTER_KEY: 'ab'.repeat(32),
      BERTH_SANDBOX_CPUS: '0.5',
      BERTH_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
      BERTH_METRICS_PORT: '0',
      BERTH_RELEASE: '',
      DATABASE_URL: 'postgres://db/berth',
    })
    expect(settings).toMatchObject({
      urls: { baseUrl: 'http://[::1]:0', authUrl: 'https://auth.example/berth' },
      listener: { loopback: false },
      roles: new Set(['worker', 'api']),
      blobs: { store: { kind: 'file', directory: '/var/blobs' } },
      masterKey: Buffer.alloc(32, 0xab),
      sandboxes: { bounds: { cpus: 0.5 } },
      http: { trustedProxies: ['10.0.0.0/8', '::1'], release: undefined },
      logging: { metricsPort: 0 },
      database: { url: 'postgres://db/berth' },
    })
  })

  test.each([
    [{ BERTH_PORT: '65536' }, 'BERTH_PORT must be a whole number from 0 to 65535'],
    [{ BERTH_PORT: '0x10' }, 'BERTH_PORT must be a whole number from 0 to 65535'],
    [{ BERTH_RATE_PER_MINUTE: '0' }, 'BERTH_RATE_PER_MINUTE must be a whole number, at least 1'],
    [{ BERTH_RATE_PER_MINUTE: '1e3' }, 'BERTH_RATE_PER_MINUTE must be a whole number, at least 1'],
    [{ BERTH_SANDBOX_CPUS: '-1' }, 'BERTH_SANDBOX_CPUS must be a number from 0.1 to 1024'],
    [{ BERTH_TRUSTED_PROXIES: 'true' }, 'BERTH_TRUSTED_PROXIES must be a list of IP addresses and ranges (10.0.0.0/8)'],
    [{ BERTH_ROLES: 'api,cook' }, 'BERTH_ROLES must be a list of api, account, gateway, worker'],
    [{ BERTH_COMPUTE: 'docker' }, 'BERTH_COMPUTE must be one of bubblewrap, oci, remote, pod'],
    [{ BERTH_COMPUTE: 'oci' }, 'BERTH_OCI_IMAGE must name an image when BERTH_COMPUTE is oci'],
    [{ BERTH_BASE_URL: 'ftp://x' }, 'BERTH_BASE_URL must be an http or https URL without query'],
    [{ BERTH_BASE_URL: 'http://u@x' }, 'BERTH_BASE_URL must be an http or https URL without query'],
    [{ BERTH_BLOBS: '/plain' }, 'BERTH_BLOBS must be file:<directory> or s3://<bucket>/<prefix>'],
    [{ BERTH_MASTER_KEY: 'short' }, 'BERTH_MASTER_KEY must be 32 bytes in base64 or hexadecimal digits'],
    [{ DATABASE_URL: 'mysql://x' }, 'DATABASE_URL must be a postgres:// URL'],
    [{ BERTH_METRICS_PORT: '-1' }, 'BERTH_METRICS_PORT must be a port from 0 to 65535'],
    [{ BERTH_CONFIG: '/none.json' }, 'BERTH_CONFIG names /none.json, which does not exist'],
    [{ BERTH_PROT: '1' }, 'BERTH_PROT is not a setting; did you mean BERTH_PORT?'],
    [{ BERTH_COLOUR: '' }, 'BERTH_COLOUR is not a setting'],
    [{ BERTH_LEASE_IDLE_SECONDS: '20000' }, 'BERTH_LEASE_IDLE_SECONDS must not be above BERTH_LEASE_MAX_SECONDS'],
    [{ BERTH_WEBHOOK_PORTS: '8443,0' }, 'BERTH_WEBHOOK_PORTS must be a list of ports'],
    [{ NODE_ENV: 'production' }, 'BERTH_BASE_URL must be an https URL when NODE_ENV is production'],
  ])('%j is refused', (variables, message) => {
    expect(refusal(variables)).toBe(message)
  })

  test('a whole address for traces is refused by the name of the variable that has its base', () => {
    expect(refusal({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://a' })).toContain('set OTEL_EXPORTER_OTLP_ENDPOINT, to')
  })

  test('a refusal never shows a secret', () => {
    expect(refusal({ BERTH_MASTER_KEY: 'hunter2' })).not.toContain('hunter2')
    expect(refusal({ DATABASE_URL: 'pg://u:hunter2@x' })).not.toContain('hunter2')
  })

  test('the settings cannot be changed later', () => {
    const settings = loadSettings({}, nothing)
    expect(Object.isFrozen(settings)).toBe(true)
    expect(Object.isFrozen(settings.worker.limits)).toBe(true)
    expect(Object.isFrozen(settings.config.runtimes)).toBe(true)
  })

  test('a free port moves the URLs that follow the listener, and no others', () => {
    const settings = listeningOn(load({ BERTH_PORT: '0', BERTH_AUTH_URL: 'https://auth.example' }), 5000)
    expect(settings).toMatchObject({
      listener: { port: 5000 },
      urls: {
        baseUrl: 'http://127.0.0.1:5000',
        authUrl: 'https://auth.example',
        consoleUrl: 'http://127.0.0.1:5000',
      },
    })
  })

  test('sets rates, and a burst is a share of each', () => {
    expect(load({}).limits).toMatchObject({
      edge: { burst: 600, perMinute: 3000 },
      issuance: { burst: 60, perMinute: 60 },
    })
    expect(load({ BERTH_RATE_PER_MINUTE: '1000' }).limits.authority).toEqual({ burst: 200, perMinute: 1000 })
    expect(load({ BERTH_RATE_PER_MINUTE: '1' }).limits.authority).toEqual({ burst: 1, perMinute: 1 })
    expect(load({}).gateway.rate).toEqual({ burst: 600, perMinute: 6000 })
  })

  test('bounds all caches of a host with one number', () => {
    const mebibyte = 1024 ** 2
    expect(load({ BERTH_CACHE_BYTES: String(5000 * mebibyte) }).sandboxes).toMatchObject({
      extensionsBytes: 1000 * mebibyte,
      imageBytes: 2000 * mebibyte,
      packagesBytes: 2000 * mebibyte,
    })
  })

  test('does not reach the values that no operator sets, and a caller does', () => {
    expect(() => load({ BERTH_GATEWAY_RETRIES: '1' })).toThrow('BERTH_GATEWAY_RETRIES is not a setting')
    expect(load({}).gateway).toMatchObject({ idleMs: 300_000, retries: 2 })
    expect(load({}, undefined, { gatewayRetries: 5 }).gateway).toMatchObject({ idleMs: 300_000, retries: 5 })
  })

  test('every setting says its default, its range and when to change it', () => {
    for (const { name, meaning, fallback, range } of describeSettings()) {
      expect(name).toMatch(/^[A-Z_]+$/)
      expect(meaning, name).toMatch(/\. (?:Set|Raise|Lower|Change) it .+\.$/)
      expect([fallback, range]).not.toContain('')
    }
  })
})

describe('the egress of sandboxes', () => {
  test('is open to public hosts unless it is closed or listed', () => {
    expect(load({}).sandboxes.egress).toEqual({ ports: [80, 443], only: undefined, refused: [] })
    expect(load({ BERTH_EGRESS: 'none', BERTH_EGRESS_PORTS: '443' }).sandboxes.egress).toBeUndefined()
    const egress = { hosts: ['example.com', '*.packages.example'], refuse: ['198.51.100.0/24', '2606:4700::/32'] }
    expect(load({ BERTH_EGRESS_PORTS: '443, 22' }, { egress }).sandboxes.egress).toEqual({
      ports: [443, 22],
      only: egress.hosts,
      refused: egress.refuse,
    })
  })

  test.each(['0', '65536', '80;443', 'https', ','])('refuses the port %s', ports => {
    expect(refusal({ BERTH_EGRESS_PORTS: ports })).toBe('BERTH_EGRESS_PORTS must be a list of ports')
  })
})

test.each([
  'Example.com',
  'localhost',
  '*',
  '*.com',
  'https://a.com',
  'a.com:443',
  '10.0.0.1',
  'a.*.com',
  'münchen.de',
])('the egress of sandboxes refuses the host %s', host => {
  expect(refusal({}, { egress: { hosts: [host] } })).toContain('egress.hosts[0] must match')
})

test('webhooks reach origins of the configuration file, but in production none', () => {
  const file = { webhooks: { allow: ['http://127.0.0.1:9000/'] } }
  const variables = Object.fromEntries(
    ['BASE', 'AUTH', 'CONSOLE'].map(part => [`BERTH_${part}_URL`, 'https://a.example']),
  )
  expect(load(variables, file).webhooks).toEqual({ ports: [443], allow: ['http://127.0.0.1:9000'], refused: [] })
  expect(refusal({ ...variables, NODE_ENV: 'production' }, file)).toContain('webhooks.allow')
  expect(refusal({}, { webhooks: { allow: ['http://127.0.0.1:9000/path'] } })).toContain('webhooks.allow[0]')
})

describe('the configuration file', () => {
  const provider = { id: 'local', kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:1/v1/', models: [{ id: 'm1' }] }
  const runtime = { id: 'opencode', command: ['opencode', 'acp'] }
  const identityProvider = { id: 'acme', issuer: 'https://id.acme.example', clientId: 'berth', clientSecret: 's' }

  test('is read with its defaults and secrets', () => {
    const { config } = load(
      { SECRET: 'from the environment' },
      {
        providers: [
          { ...provider, apiKey: { env: 'SECRET' }, models: [{ id: 'm1', price: { input: 1, output: 4 } }] },
          { id: 'other', kind: 'anthropic', apiKey: 'inline', baseUrl: null, models: [] },
        ],
        models: { default: 'fast', aliases: { fast: 'local/m1' }, fallbacks: null },
        runtimes: [
          {
            ...runtime,
            env: { KEY: 'value', TOKEN: { env: 'SECRET' } },
            reach: ['http://127.0.0.1:9000/'],
            mounts: ['/opt//tools/'],
          },
        ],
        gitHosts: [{ kind: 'github', appId: '7', privateKey: { env: 'SECRET' } }],
      },
    )
    expect(config).toMatchObject({
      providers: [
        {
          apiKey: 'from the environment',
          baseUrl: 'http://127.0.0.1:1/v1',
          wire: ['chat'],
          models: [{ tools: true, modalities: ['text'], price: { input: 1, cachedInput: 1, output: 4 } }],
        },
        { apiKey: 'inline', wire: ['messages'] },
      ],
      models: { default: 'fast', aliases: { fast: 'local/m1' } },
      runtimes: [
        {
          name: 'opencode',
          env: { KEY: 'value', TOKEN: 'from the environment' },
          reach: ['http://127.0.0.1:9000'],
          mounts: ['/opt/tools'],
        },
      ],
      gitHosts: [{ kind: 'github', appId: '7', privateKey: 'from the environment' }],
    })
  })

  test.each([
    ['{\n  "allow": [,]\n}', /^\/rules\.json: it is not JSON: see line 2 column 13$/],
    [{}, 'allow is missing'],
    [{ allow: [], deny: [] }, 'deny is not known here; known are allow'],
    [{ allow: [{ tools: ['a'], pahts: null }] }, 'allow[0].pahts is not known here; known are organizations'],
    [{ allow: [{ runtimes: ['codex'] }] }, 'allow[0] must name tools, kinds, commands, paths or hosts'],
    [{ allow: [{ kinds: ['write'] }] }, 'allow[0].kinds[0] must be one of read, edit'],
    [{ allow: [{ commands: ['a | b'] }] }, 'allow[0].commands[0] must be the words of one command'],
    [{ allow: [{ commands: ['*'] }] }, 'allow[0].commands[0] must be the words of one command'],
    [{ allow: [{ paths: ['/a'] }] }, 'allow[0] names paths, so its kinds must be of read, search, edit, delete'],
    [{ allow: [{ kinds: ['edit'], paths: ['a/**'] }] }, 'allow[0].paths[0] must be an absolute path'],
    [{ allow: [{ kinds: ['edit'], paths: ['/a/*.ts'] }] }, 'allow[0].paths[0] must be an absolute path'],
    [{ allow: [{ tools: ['a'], organizations: ['me'] }] }, 'allow[0].organizations[0] must match'],
  ])('of approval rules ends the start if it is wrong: %j', (rules, message) => {
    const text = typeof rules === 'string' ? rules : JSON.stringify(rules)
    const read = (path: string) => (path === '/rules.json' ? text : undefined)
    expect(() => loadSettings({ BERTH_APPROVAL_RULES: '/rules.json' }, read)).toThrow(message)
    expect(() => loadSettings({ BERTH_APPROVAL_RULES: '/other.json' }, read)).toThrow(
      '/other.json, which does not exist',
    )
  })

  test.each([
    [{ providers: [{ ...provider, apiKey: 'sk-1' }] }, 'providers[0].apiKey'],
    [{ gitHosts: [{ kind: 'github', appId: '1', privateKey: 'pem' }] }, 'gitHosts[0].privateKey'],
    [{ commits: { signingKey: 'pem' } }, 'commits.signingKey'],
    [{ runtimes: [{ ...runtime, env: { A_TOKEN: '12345678' } }] }, 'runtimes[0].env holds a secret (A_TOKEN)'],
    [
      { transcription: { kind: 'openai-compatible', baseUrl: 'http://x', model: 'm', apiKey: 'k' } },
      'transcription.apiKey',
    ],
    [{ search: { kind: 'json', url: 'http://x/{query}', apiKey: 'k' } }, 'search.apiKey'],
  ])('%j is refused if others can read it', (config, place) => {
    const read = (isOpen: boolean) => () =>
      loadSettings(
        { BERTH_CONFIG: '/berth.json' },
        () => JSON.stringify(config),
        () => isOpen,
      )
    expect(read(true)).toThrow(`/berth.json: ${place}`)
    expect(read(true)).toThrow('is open to others: chmod 600 it')
    expect(read(false)).not.toThrow()
  })

  test('may be open to others if it only refers to its secrets', () => {
    const config = {
      providers: [{ ...provider, apiKey: { env: 'KEY' } }],
      gitHosts: [{ kind: 'github', appId: '1', privateKey: { env: 'KEY' } }],
      runtimes: [
        { ...runtime, env: { A: 'plain words', MAX_TOKENS: '4096', GIT_AUTHOR_NAME: 'An Author', B: { env: 'KEY' } } },
      ],
    }
    const settings = loadSettings(
      { BERTH_CONFIG: '/berth.json', KEY: 'secret-1' },
      () => JSON.stringify(config),
      () => true,
    )
    expect(settings.config.runtimes[0]?.secrets).toEqual(['secret-1'])
  })

  test('is read from the path in BERTH_CONFIG', () => {
    const read = (path: string) => (path === '/etc/berth.json' ? JSON.stringify({ runtimes: [runtime] }) : undefined)
    expect(loadSettings({ BERTH_CONFIG: '/etc/berth.json' }, read).config.runtimes).toHaveLength(1)
  })

  test.each([
    ['', 'it is not JSON: see line 1 column 1'],
    ['{\n"commits": "unended\n}', 'it is not JSON: see line 2 column 20'],
    ['{\n"commits": {"signingKey": sk-1234567890}}', 'it is not JSON: see line 2 column 27'],
    [{ egres: null }, 'egres is not known here; known are providers'],
    [{ providers: [{ ...provider, modles: null }] }, 'providers[0].modles is not known here; known are id, kind'],
    [{ models: { aliases: { fast: null } } }, 'models.aliases.fast must be of type string'],
    [{ runtimes: [{ ...runtime, env: { X: null } }] }, 'runtimes[0].env.X must be a text or { "env": "NAME" }'],
    [[], 'it must be of type object'],
    [
      { colours: 1 },
      'colours is not known here; known are providers, models, runtimes, gitHosts, commits, firstPartyClients, identityProviders, egress, webhooks, extensions, transcription, search',
    ],
    [{ identityProviders: [{ ...identityProvider, clientId: null }] }, 'identityProviders[0].clientId is missing'],
    [{ identityProviders: [identityProvider, identityProvider] }, 'identityProviders has two entries with the id acme'],
    [
      { identityProviders: [{ ...identityProvider, issuer: 'http://id.acme.example' }] },
      'identityProviders[0].issuer must be an https URL',
    ],
    [
      { identityProviders: [{ ...identityProvider, domains: ['acme.example'] }] },
      'identityProviders[0] has domains, so it must name the organization',
    ],
    [{ commits: { name: 'A <b>' } }, 'commits.name must match'],
    [{ commits: { email: 'nobody' } }, 'commits.email must match'],
    [{ runtimes: {} }, 'runtimes must be of type array'],
    [{ runtimes: [{}] }, 'runtimes[0].id is missing'],
    [{ runtimes: [{ ...runtime, id: 'Open Code' }] }, 'runtimes[0].id must match pattern "^[a-z0-9][a-z0-9-]{0,63}$"'],
    [{ runtimes: [{ ...runtime, id: 'shell' }] }, 'runtimes[0].id must not be shell, which is built in'],
    [{ runtimes: [runtime, runtime] }, 'runtimes has two entries with the id opencode'],
    [{ runtimes: [{ ...runtime, command: [] }] }, 'runtimes[0].command must not have fewer than 1 items'],
    [{ runtimes: [{ ...runtime, command: ['a', 7] }] }, 'runtimes[0].command[1] must be of type string'],
    [{ runtimes: [{ ...runtime, env: { 'A-B': 'x' } }] }, 'runtimes[0].env has the name A-B, which does not match'],
    [
      { runtimes: [{ ...runtime, env: { A: { env: 'NONE' } } }] },
      'runtimes[0].env.A names the variable NONE, which is not set',
    ],
    [
      { runtimes: [{ ...runtime, env: { A: { file: 'x' } } }] },
      'runtimes[0].env.A must be a text or { "env": "NAME" }',
    ],
    [
      { runtimes: [{ ...runtime, mounts: ['opt'] }] },
      'runtimes[0].mounts[0] must be an absolute directory other than /',
    ],
    [
      { runtimes: [{ ...runtime, mounts: ['/opt/..'] }] },
      'runtimes[0].mounts[0] must be an absolute directory other than /',
    ],
    [{ runtimes: [{ ...runtime, reach: ['http://x/y'] }] }, 'runtimes[0].reach[0] must be an http or https origin'],
    [{ providers: [{ ...provider, kind: 'magic' }] }, 'providers[0].kind must be one of openai, anthropic, google'],
    [{ providers: [{ ...provider, baseUrl: undefined }] }, 'providers[0] is openai-compatible, so it needs a baseUrl'],
    [{ providers: [{ ...provider, wire: [] }] }, 'providers[0].wire must not have fewer than 1 items'],
    [
      { providers: [{ ...provider, models: [{ id: 'm', contextTokens: 0 }] }] },
      'providers[0].models[0].contextTokens must be',
    ],
    [
      { providers: [{ ...provider, models: [{ id: 'm', price: { input: -1, output: 1 } }] }] },
      'providers[0].models[0].price.input must be',
    ],
    [{ models: { default: 'local/m1' } }, 'models.default names the model local/m1, which no provider serves'],
    [{ models: { aliases: { fast: 'local/m1' } } }, 'models.aliases.fast names the model local/m1'],
    [
      { providers: [provider], models: { fallbacks: { 'other/m1': ['local/m1'] } } },
      'models.fallbacks["other/m1"] names the model other/m1, which no provider serves',
    ],
    [
      { providers: [provider], models: { fallbacks: { 'local/m1': ['other/m1'] } } },
      'models.fallbacks["local/m1"][0] names the model other/m1, which no provider serves',
    ],
    [
      { providers: [provider], models: { fallbacks: { 'local/m1': [] } } },
      'models.fallbacks["local/m1"] must not have fewer than 1 items',
    ],
    [
      { providers: [provider], models: { fallbacks: { 'local/m1': ['local/m1'] } } },
      'models.fallbacks["local/m1"] names local/m1 as its own fallback',
    ],
    [
      { providers: [provider], models: { details: { 'other/m1': {} } } },
      'models.details["other/m1"] names the model other/m1, which no provider serves',
    ],
    [
      { providers: [provider], models: { details: { 'local/m1': { size: 1 } } } },
      'models.details["local/m1"].size is not known here',
    ],
    [
      { providers: [provider], models: { details: { 'local/m1': { modalities: ['smell'] } } } },
      'models.details["local/m1"].modalities[0] must be one of',
    ],
    [{ egress: { hosts: [] } }, 'egress.hosts must not have fewer than 1 items'],
    [{ egress: { refuse: ['10.0.0.1'] } }, 'egress.refuse[0] must be a range of addresses'],
    [{ transcription: {} }, 'transcription.kind is missing'],
    [{ transcription: { kind: 'offline', model: 'm' } }, 'transcription is offline, so it has no other members'],
    [{ transcription: { kind: 'openai-compatible', model: 'm' } }, 'transcription must have baseUrl and model'],
    [{ search: { kind: 'json', url: 'ftp://x' } }, 'search.url must be an http URL'],
    [{ search: { kind: 'json', url: 'http://x', model: 'm' } }, 'search must have url, and no baseUrl or model'],
    [{ search: { kind: 'openai-compatible', model: 'm' } }, 'search must have baseUrl and model'],
    [{ gitHosts: [{ kind: 'gitlab', appId: '1', privateKey: 'p' }] }, 'gitHosts[0].kind must be one of github'],
    [{ gitHosts: [{ kind: 'github', appId: '1' }] }, 'gitHosts[0].privateKey is missing'],
    [
      { gitHosts: [{ kind: 'github', appId: '1', privateKey: 'p', clientId: 'c' }] },
      'gitHosts[0] must have clientId and clientSecret together',
    ],
  ])('%j is refused', (file, message) => expect(refusal({}, file)).toContain(`/data/berth.json: ${message}`))
})
