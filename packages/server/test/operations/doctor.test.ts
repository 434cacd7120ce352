import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { runDirectory } from '@berth/testing/leaks/run-directory.ts'
import { databaseUrl, startTestService, type TestService, testVariables } from '@berth/testing/services/service.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { startS3Server } from '@berth/testing/storage/s3-server.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Finding } from '../../src/doctor/finding.ts'
import { examine } from '../../src/run-doctor.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../../..')
const isRoot = process.getuid?.() === 0
const stack = new AsyncDisposableStack()
let service: TestService
let free: string

beforeAll(async () => {
  service = stack.use(await startTestService())
  free = await runDirectory('doctor')
  stack.defer(() => rm(free, { recursive: true, force: true }))
})
afterAll(() => stack.disposeAsync())

const base = { BERTH_PORT: '0', BERTH_SANDBOX_DISK_BYTES: testVariables.BERTH_SANDBOX_DISK_BYTES }
/** No sandbox is tried: that is what the first tests are for. */
const apart = { ...base, BERTH_ROLES: 'api,account,gateway' }

async function findings(variables: Record<string, string>): Promise<readonly Finding[]> {
  const found: Finding[] = []
  await examine(variables, finding => void found.push(finding))
  return found
}

/** Examines in a process of its own, after commands of a mount namespace that only it sees. */
async function findingsIn(commands: string, variables: Record<string, string>): Promise<readonly Finding[]> {
  const program = `
    import { examine } from './packages/server/dist/doctor.js'
    await examine(process.env, finding => console.log(JSON.stringify(finding)))`
  const words = [process.execPath, '--input-type=module', '-e', program]
  const { stdout } = await run('unshare', ['--mount', 'sh', '-c', `${commands}; exec "$@"`, 'sh', ...words], {
    cwd: root,
    env: { PATH: process.env['PATH'], ...variables },
  })
  return stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
}

const of = (found: readonly Finding[], check: string) => found.find(finding => finding.check === check)
const failures = (found: readonly Finding[]) => found.filter(({ state }) => state === 'failure')

describe('berth doctor on the machine of a service', () => {
  it('finds nothing missing beside a running service, and leaves nothing behind', async () => {
    const { url, dataDir, db } = service
    const port = new URL(url).port
    const variables = { ...base, BERTH_PORT: port, BERTH_DATA_DIR: dataDir, DATABASE_URL: databaseUrl(db) }
    const found = await findings(variables)
    expect(failures(found)).toEqual([])
    expect(of(found, 'database')?.detail).toMatch(/^PostgreSQL \d+.* as /)
    expect(of(found, 'migrations')).toMatchObject({ state: 'ok' })
    expect(of(found, 'master key')?.detail).toMatch(/^key [0-9a-f]{8}, which this database uses$/)
    expect(of(found, 'blob store')?.detail).toMatch(/marked by this database$/)
    expect(of(found, 'port')?.detail).toContain(`process ${process.pid} serves`)
    expect(of(found, 'sandbox')?.detail).toMatch(/ran `true`, and reached no network$/)
    expect(of(found, 'agents')?.detail).toMatch(/^.*shell/)
  })

  it('names the port of the service that runs, although these settings name one that another program has', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    stack.defer(() => void other.close())
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const { url, dataDir, db } = service
    const of = { BERTH_DATA_DIR: dataDir, DATABASE_URL: databaseUrl(db) }
    const found = await findings({ ...apart, ...of, BERTH_PORT: String(port) })
    const ports = found.filter(({ check }) => check === 'port').map(({ state, detail }) => `${state} ${detail}`)
    expect(ports).toEqual([`ok process ${process.pid} serves from this data directory on ${new URL(url).host}`])
  })

  it('warns of a provider’s key that only the terminal of the running service has, and of none without a service', async () => {
    const { dataDir, db } = service
    const config = join(free, 'keys.json')
    const provider = { id: 'acme', kind: 'openai', apiKey: { env: 'ACME_API_KEY_OF_A_TEST' } }
    await writeFile(config, JSON.stringify({ providers: [provider] }), { mode: 0o600 })
    const named = { ...apart, BERTH_CONFIG: config, DATABASE_URL: databaseUrl(db) }
    const unconfigured = await findings({ ...named, BERTH_DATA_DIR: dataDir })
    expect(failures(unconfigured)).toEqual([])
    expect(of(unconfigured, 'settings')).toEqual({
      check: 'settings',
      state: 'warning',
      detail: `ACME_API_KEY_OF_A_TEST is not set in this terminal; process ${process.pid}, which serves from this data directory, has its own`,
      next: 'export ACME_API_KEY_OF_A_TEST=… before a start from here',
    })
    const alone = await findings({ ...named, BERTH_DATA_DIR: join(free, 'none') })
    expect(of(alone, 'settings')).toMatchObject({
      state: 'failure',
      detail: expect.stringContaining('names the variable ACME_API_KEY_OF_A_TEST, which is not set'),
    })
  })

  it('makes no data directory, and names the embedded database that a start would bring', async () => {
    const dataDir = join(free, 'none')
    const found = await findings({ ...base, BERTH_DATA_DIR: dataDir })
    expect(failures(found)).toEqual([])
    expect(of(found, 'data directory')?.detail).toContain('not there yet')
    expect(of(found, 'database')?.detail).toMatch(/^embedded, postgres \(PostgreSQL\) 18/)
    expect(existsSync(dataDir)).toBe(false)
    expect((await readdir(free)).filter(name => /^\.?berth-/.test(name))).toEqual([])
  })

  it('names the bounds that this machine enforces less well, each with the way to mend it', async ({ skip }) => {
    skip(!isRoot, 'only root can hide the cgroups')
    const found = await findingsIn('umount --recursive --lazy /sys/fs/cgroup', { ...base, BERTH_DATA_DIR: free })
    expect(failures(found)).toEqual([])
    expect(of(found, 'cgroups')).toMatchObject({ state: 'warning', next: expect.stringContaining('Delegate=yes') })
  })
})

describe('berth doctor fails with a way to go on', () => {
  it.each([
    ['bwrap', 'bubblewrap', /apt-get install bubblewrap/],
    ['git', 'git', /apt-get install git/],
    ['setpriv', 'util-linux', /apt-get install util-linux/],
  ])('if the machine lacks %s', async (program, check, next) => {
    if (!isRoot) return
    const hide = `for one in /usr/bin/${program} /usr/sbin/${program}; do [ ! -e $one ] || mount --bind /dev/null $one; done`
    const found = await findingsIn(hide, { ...base, BERTH_DATA_DIR: free })
    expect(of(found, check)).toMatchObject({ state: 'failure', next: expect.stringMatching(next) })
    expect(of(found, 'sandbox')).toMatchObject({ state: 'failure' })
  })

  it('if the disk of the data directory is full', async ({ skip }) => {
    skip(!isRoot, 'only root can mount one')
    const found = await findingsIn(
      `mount -t tmpfs -o size=64k none ${free} && head -c 1M /dev/zero > ${free}/full || true`,
      {
        ...apart,
        BERTH_DATA_DIR: free,
      },
    )
    expect(of(found, 'data directory')).toMatchObject({
      state: 'failure',
      detail: expect.stringContaining('no space left on the disk'),
      next: expect.stringContaining('BERTH_DATA_DIR='),
    })
  })

  it('if the data directory cannot be written, or is none', async () => {
    const closed = join(free, 'closed')
    await mkdir(closed, { mode: 0o500 })
    await writeFile(join(free, 'file'), '')
    const inPlace = await findings({ ...apart, BERTH_DATA_DIR: join(free, 'file') })
    expect(of(inPlace, 'data directory')?.detail).toBe(`${join(free, 'file')} is not a directory`)
    const below = await findings({ ...apart, BERTH_DATA_DIR: '/proc/berth' })
    expect(of(below, 'data directory')?.detail).toBe('/proc/berth cannot be made: /proc takes no new files')
    const found = isRoot
      ? await findingsIn(`mount -t tmpfs -o ro none ${closed}`, { ...apart, BERTH_DATA_DIR: closed })
      : await findings({ ...apart, BERTH_DATA_DIR: closed })
    expect(of(found, 'data directory')?.detail).toMatch(/read-only|permission denied/)
    await chmod(closed, 0o700)
  })

  it('if the database does not answer, without its password', async () => {
    const DATABASE_URL = 'postgresql://berth:hunter2hunter2@127.0.0.1:1/berth'
    const found = await findings({ ...apart, BERTH_DATA_DIR: free, DATABASE_URL })
    expect(of(found, 'database')).toMatchObject({ state: 'failure', detail: expect.stringContaining('ECONNREFUSED') })
    expect(JSON.stringify(found)).not.toContain('hunter2hunter2')
  })

  it('if the database has not been migrated, which a start does, or belongs to another key', async () => {
    await using empty = await createTestDatabase({ empty: true })
    const found = await findings({ ...apart, BERTH_DATA_DIR: free, DATABASE_URL: databaseUrl(empty) })
    expect(of(found, 'migrations')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^\d+ of this release/),
    })
    const other = { BERTH_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'), DATABASE_URL: databaseUrl(service.db) }
    const wrong = await findings({ ...apart, BERTH_DATA_DIR: free, ...other })
    expect(of(wrong, 'master key')).toMatchObject({ state: 'failure' })
    expect(JSON.stringify(wrong)).not.toContain(other.BERTH_MASTER_KEY)
    const missing = await findings({ ...apart, BERTH_DATA_DIR: free, DATABASE_URL: databaseUrl(service.db) })
    expect(of(missing, 'master key')?.detail).toMatch(/master\.key is missing/)
  })

  it('if the bucket is not there, or refuses the keys', async () => {
    await using s3 = await startS3Server()
    const { bucket, endpoint, region, keys } = s3.location()
    const variables = {
      ...apart,
      BERTH_DATA_DIR: free,
      BERTH_BLOBS: `s3://${bucket}-none`,
      AWS_ENDPOINT_URL: endpoint ?? '',
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: keys?.accessKeyId ?? '',
      AWS_SECRET_ACCESS_KEY: keys?.secretAccessKey ?? '',
    }
    expect(of(await findings(variables), 'blob store')).toMatchObject({ state: 'failure' })
    expect(of(await findings({ ...variables, BERTH_BLOBS: `s3://${bucket}` }), 'blob store')).toMatchObject({
      state: 'ok',
    })
  })

  it('if another program has the port, or a setting is wrong', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    stack.defer(() => void other.close())
    await once(other, 'listening')
    const port = (other.address() as AddressInfo).port
    const found = await findings({ ...apart, BERTH_PORT: String(port), BERTH_DATA_DIR: free })
    expect(of(found, 'port')).toMatchObject({ state: 'failure', next: `BERTH_PORT=${port + 1} script/server` })
    expect(of(await findings({ BERTH_PROT: '1' }), 'settings')).toMatchObject({
      state: 'failure',
      detail: 'BERTH_PROT is not a setting; did you mean BERTH_PORT?',
    })
  })
})
