import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { DCLinter } from 'dclint'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { loadSettings } from '../packages/platform/src/settings/settings.ts'
import { startEmbeddedPostgres } from '../packages/platform/src/storage/embedded/embedded-postgres.ts'
import { openDatabase } from '../packages/platform/src/storage/postgres/pool.ts'
import { silentLog } from '../packages/testing/src/services/log.ts'

const folder = join(import.meta.dirname, '..', 'deploy/compose')
const text = readFileSync(join(folder, 'compose.yaml'), 'utf8')

interface Service {
  readonly image: string
  readonly environment: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly ports?: readonly string[]
  readonly volumes: readonly string[]
  readonly read_only?: boolean
  readonly security_opt: readonly string[]
}
const composed: { services: Record<string, Service>; volumes: Record<string, null> } = parse(text)
const services = Object.entries(composed.services)

let place: string
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'berth-compose-'))
})
afterEach(() => rmSync(place, { recursive: true, force: true }))

/** Rules of taste, and one against an image that can be built as well, which is how its name is chosen here. */
const off = {
  ...{ 'service-keys-order': 0, 'services-alphabetical-order': 0, 'top-level-properties-order': 0 },
  ...{ 'service-ports-alphabetical-order': 0, 'service-dependencies-alphabetical-order': 0, 'no-build-and-image': 0 },
  'require-quotes-in-ports': 0,
} as const

/** The linter's answer for a file; its own types cannot be read under this module resolution. */
interface Linted {
  readonly messages: readonly { readonly rule: string; readonly message: string }[]
}

/** Returns the faults of a compose file, by the official schema and by the linter's rules. */
function faultsOf(content: string): readonly string[] {
  const path = join(place, 'compose.yaml')
  writeFileSync(path, content)
  const linter = new DCLinter({ rules: off, quiet: false, debug: false, exclude: [] })
  const linted: readonly Linted[] = linter.lintFiles([path], false)
  return linted.flatMap(({ messages }) => messages.map(({ rule, message }) => `${rule}: ${message}`))
}

/** Makes values as an operator does, and returns them by their names. */
function makeEnv(url = 'https://berth.example.com'): Readonly<Record<string, string>> {
  copyFileSync(join(folder, 'make-env'), join(place, 'make-env'))
  execFileSync(join(place, 'make-env'), [url], { stdio: 'ignore' })
  return parseEnv(readFileSync(join(place, '.env'), 'utf8')) as Record<string, string>
}

/** Puts values in their places, as compose does. */
const filled = (value: string, values: Readonly<Record<string, string>>) =>
  value.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind?: string, otherwise = '') => {
    const given = values[name]
    if (given === undefined && kind !== '-') throw new Error(`${name}: ${otherwise}`)
    return given ?? otherwise
  })

describe('the compose file', () => {
  it('satisfies the schema of the Compose Specification and the rules of a linter', () => {
    expect(faultsOf(text)).toEqual([])
  })

  it.each([
    ['healthcheck:', 'healthchecks:'],
    ['condition: service_healthy', 'condition: healthy'],
    ['read_only: true', 'read_only: [true]'],
    ['postgres:18-bookworm', 'postgres:latest'],
    [`127.0.0.1:\${BERTH_PORT`, `\${BERTH_PORT`],
  ])('would not satisfy them with %s written as %s', (right, wrong) => {
    expect(text).toContain(right)
    expect(faultsOf(text.replace(right, wrong))).not.toEqual([])
  })

  it('names the image of this release, and releases of the others', () => {
    const { version } = JSON.parse(readFileSync(join(folder, '../../package.json'), 'utf8'))
    const images = services.map(([, { image }]) => filled(image, {}))
    expect(images[0]).toBe(`berth:${version}`)
    for (const image of images) expect(image).toMatch(/:v?\d+[\w.-]*$/)
  })

  it('starts Berth when the database and the bucket are healthy, and checks both', () => {
    const others = services.filter(([name]) => name !== 'berth')
    expect(composed.services['berth']?.depends_on).toEqual(
      Object.fromEntries(others.map(([name]) => [name, { condition: 'service_healthy' }])),
    )
    for (const [name, { healthcheck }] of others) expect(healthcheck?.test.length, name).toBeGreaterThan(1)
  })

  it('keeps data in volumes, systems read-only, and everything but Berth away from the network', () => {
    for (const [name, service] of services) {
      expect(
        service.volumes.some(volume => volume.startsWith(`${name}:`)),
        name,
      ).toBe(true)
      expect(service.read_only, name).toBe(true)
      expect(service.security_opt, name).toContain('no-new-privileges:true')
      expect(service.ports, name).toEqual(name === 'berth' ? [`127.0.0.1:\${BERTH_PORT:-4100}:4100`] : undefined)
    }
    expect(Object.keys(composed.volumes)).toEqual(services.map(([name]) => name))
  })

  it('has no password or key of its own: without values it says what to do', () => {
    const secret = /PASSWORD|KEY|URL/
    const named = services.flatMap(([, { environment }]) =>
      Object.entries(environment).filter(([name]) => secret.test(name)),
    )
    expect(named.length).toBeGreaterThan(8)
    for (const [name, value] of named) {
      if (name === 'AWS_ENDPOINT_URL') continue
      expect(() => filled(value, {}), name).toThrow('run deploy/compose/make-env first')
    }
  })

  it('gives Berth settings that a start takes', () => {
    const values = makeEnv()
    const environment = Object.entries(composed.services['berth']?.environment ?? {})
    const variables = Object.fromEntries(environment.map(([name, value]) => [name, filled(value, values)]))
    const settings = loadSettings({ ...variables, BERTH_HOST: '0.0.0.0' }, () => undefined)
    expect(settings.blobs.store).toMatchObject({ kind: 's3', location: { bucket: 'berth' } })
    expect(variables['AWS_SECRET_ACCESS_KEY']).toBe(values['S3_SECRET_KEY'])
  })
})

describe('the script that makes the values', () => {
  it('makes all that compose requires, others each time, in a file that nobody else reads', () => {
    const values = makeEnv()
    expect(statSync(join(place, '.env')).mode & 0o777).toBe(0o600)
    const wanted = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name)
    expect(Object.keys(values).sort()).toEqual([...new Set(wanted)].sort())
    rmSync(join(place, '.env'))
    const others = makeEnv()
    const same = Object.keys(values).filter(name => values[name] === others[name])
    expect(same).toEqual(['BERTH_URL', 'S3_ACCESS_KEY'])
    expect(new Set(Object.values(values)).size).toBe(Object.keys(values).length)
  })

  it('refuses to replace values, and an address without TLS', () => {
    const values = makeEnv()
    const again = (...args: string[]) => spawnSync(join(place, 'make-env'), args, { encoding: 'utf8' })
    expect(again('https://other.example.com')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('is there already'),
    })
    expect(parseEnv(readFileSync(join(place, '.env'), 'utf8'))).toEqual(values)
    rmSync(join(place, '.env'))
    for (const args of [[], ['http://berth.example.com'], ['https://']]) {
      expect(again(...args)).toMatchObject({ status: 2, stderr: expect.stringContaining('usage:') })
    }
    expect(existsSync(join(place, '.env'))).toBe(false)
  })
})

describe('the script of the database', () => {
  const psql = '/usr/bin/psql'

  it.skipIf(!existsSync(psql))(
    'makes a role that signs in by the password and owns nothing',
    { timeout: 60_000 },
    async () => {
      mkdirSync(join(place, 'data'))
      await using server = await startEmbeddedPostgres({ dataDir: join(place, 'data'), log: silentLog })
      const { host, user, port } = server.administration
      await using database = openDatabase({ connection: server.administration, log: silentLog, connections: 1 })
      // The embedded database has made it already.
      await database.query('drop role berth_service')
      execFileSync(psql, ['--no-psqlrc', '--set=ON_ERROR_STOP=1', `--file=${join(folder, 'service-role.sql')}`], {
        env: {
          PGHOST: host,
          PGUSER: user,
          PGPORT: `${port}`,
          PGDATABASE: 'postgres',
          BERTH_SERVICE_PASSWORD: "it's secret",
        },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      const { rows } = await database.query(
        "select rolcanlogin, rolsuper, rolcreatedb, rolpassword like 'SCRAM-SHA-256%' as hashed from pg_authid where rolname = 'berth_service'",
      )
      expect(rows).toEqual([{ rolcanlogin: true, rolsuper: false, rolcreatedb: false, hashed: true }])
    },
  )
})
