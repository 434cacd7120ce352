import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { postgresCommand, postgresEnvironment } from '@berth/platform/storage/embedded/command.ts'
import { embeddedConnection, startEmbeddedPostgres } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { superuser } from '@berth/platform/storage/embedded/initialize.ts'
import { prepareLayout } from '@berth/platform/storage/embedded/layout.ts'
import { launchPostmaster } from '@berth/platform/storage/embedded/postmaster.ts'
import { isRunning } from '@berth/platform/storage/embedded/process-stat.ts'
import { openDatabase, type PooledDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { silentLog } from '@berth/testing/services/log.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'

const asRoot = process.getuid?.() === 0
const fixture = join(import.meta.dirname, '../../../testing/src/services/embedded-service.ts')

let directory: string
let children: ChildProcess[]

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'berth-embedded-'))
  children = []
})
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
})

type Answer = { readonly ready?: number; readonly refused?: string }

/** Starts a service process and waits for its one line. */
async function startService(dataDir: string, identity: { uid?: number; gid?: number } = {}) {
  const child = spawn(process.execPath, [fixture, dataDir], { stdio: ['pipe', 'pipe', 'inherit'], ...identity })
  children.push(child)
  const line = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  const answer: Answer = line.done === true ? {} : JSON.parse(line.value)
  return { child, ...answer }
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

function open(dataDir = directory): PooledDatabase {
  const connection = { ...embeddedConnection(dataDir), user: superuser }
  return openDatabase({ connection, log: silentLog, connectTimeoutMs: 60_000 })
}

function start(dataDir = directory) {
  return startEmbeddedPostgres({ dataDir, log: silentLog })
}

async function remember(dataDir = directory): Promise<void> {
  await using database = open(dataDir)
  await database.query('create table facts (id integer)')
  await database.query('insert into facts values (1), (2)')
}

async function recall(dataDir = directory): Promise<number> {
  await using database = open(dataDir)
  return (await database.query('select id from facts')).rowCount
}

describe('one service', () => {
  test('keeps its data over a clean stop, listens on no port, and frees the directory', async () => {
    {
      await using server = await start()
      await remember()
      await using database = open()
      const { rows } = await database.query<Record<string, string>>(
        "select current_setting('listen_addresses') as addresses, current_setting('fsync') as fsync, current_setting('server_encoding') as encoding",
      )
      expect(rows).toEqual([{ addresses: '', fsync: 'on', encoding: 'UTF8' }])
      await Promise.all([server.stop(), server.stop()])
      expect(isRunning(server.pid)).toBe(false)
    }
    await using _server = await start()
    expect(await recall()).toBe(2)
  })

  test('gives PostgreSQL none of its environment', async () => {
    vi.stubEnv('BERTH_MASTER_KEY', 'secret')
    await using server = await start()
    expect(readFileSync(`/proc/${server.pid}/environ`, 'latin1')).not.toContain('secret')
    vi.unstubAllEnvs()
  })

  test.runIf(asRoot)('as root, runs PostgreSQL unprivileged below a directory that only root may enter', async () => {
    const closed = join(directory, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    await using server = await start(join(closed, 'data'))
    const status = readFileSync(`/proc/${server.pid}/status`, 'latin1')
    expect(status).toMatch(/^Uid:\t20000\t20000\t20000\t20000$/m)
    expect(status).toMatch(/^CapEff:\t0+$/m)
    expect(status).toMatch(/^CapBnd:\t0+$/m)
    expect(status).toMatch(/^NoNewPrivs:\t1$/m)
    expect(statSync(join(closed, 'data', 'postgres', 'socket')).mode & 0o777).toBe(0o700)
  })

  test('reaches a socket whose path is longer than a socket address', async () => {
    const long = join(directory, 'x'.repeat(100), 'y'.repeat(100))
    await using server = await start(long)
    expect(server.connection.host).toMatch(/^\/proc\/self\/fd\//)
    await remember(long)
    expect(await recall(long)).toBe(2)
  })

  test('restarts PostgreSQL when it is killed, and its clients continue', async () => {
    await using server = await start()
    await remember()
    await using database = open()
    await database.query('select 1')
    const killed = server.pid
    process.kill(killed, 'SIGKILL')
    await vi.waitFor(() => expect(server.pid).not.toBe(killed), 20_000)
    const count = await vi.waitFor(async () => (await database.query('select id from facts')).rowCount, 20_000)
    expect(count).toBe(2)
  })

  test('can stop while it restarts PostgreSQL', async () => {
    const server = await start()
    process.kill(server.pid, 'SIGKILL')
    await server.stop()
    await using _again = await start()
  })
})

describe('two services', () => {
  test('that start for the first time at once: one serves, the other names it', async () => {
    const services = await Promise.all([startService(directory), startService(directory)])
    const serving = services.filter(service => service.ready !== undefined)
    const refused = services.filter(service => service.refused !== undefined)
    expect(serving).toHaveLength(1)
    expect(refused.map(service => service.refused)).toEqual([
      `data directory in use by PID ${serving[0]?.child.pid}: ${directory}`,
    ])
  })

  test('leave the first one serving when the second starts', async () => {
    await using _server = await start()
    await remember()
    await expect(start()).rejects.toThrow(`data directory in use by PID ${process.pid}: ${directory}`)
    expect(await recall()).toBe(2)
  })
})

describe('after kill -9', () => {
  test("the service's PostgreSQL ends with it, and the next service starts", async () => {
    const { child } = await startService(directory)
    await remember()
    await kill(child)
    await using _server = await start()
    expect(await recall()).toBe(2)
    expect(readFileSync(join(directory, 'postgres', 'postgres.log'), 'utf8')).not.toContain('not properly shut down')
  })

  test('the next service starts even if PostgreSQL was killed too', async () => {
    const { child, ready } = await startService(directory)
    await remember()
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    process.kill(ready ?? 0, 'SIGKILL')
    await gone
    await using _server = await start()
    expect(await recall()).toBe(2)
  })

  test('the next service starts even if the data directory was half made', async () => {
    const { directory: below } = prepareLayout(directory)
    const begun = Promise.withResolvers<void>()
    const watcher = watch(below, (_event, name) => {
      if (name?.startsWith('initializing-') === true) begun.resolve()
    })
    const child = spawn(process.execPath, [fixture, directory], { stdio: ['pipe', 'ignore', 'inherit'] })
    children.push(child)
    await begun.promise
    watcher.close()
    await kill(child)
    expect(existsSync(join(below, 'data'))).toBe(false)
    {
      await using _server = await start()
      await remember()
    }
    await using _server = await start()
    expect(readdirSync(below).filter(name => name.startsWith('initializing-'))).toEqual([])
    expect(await recall()).toBe(2)
  })

  test('a PostgreSQL that survives is stopped before the next one starts', async () => {
    await (await start()).stop()
    const orphan = await launchPostmaster(prepareLayout(directory), {}, new AbortController().signal)
    await remember()
    await using server = await start()
    await orphan.ended
    expect(server.pid).not.toBe(orphan.pid)
    expect(await recall()).toBe(2)
  })
})

describe('the files of a killed PostgreSQL', () => {
  async function crashed(): Promise<string> {
    const { child, ready } = await startService(directory)
    await remember()
    process.kill(child.pid ?? 0, 'SIGSTOP')
    process.kill(ready ?? 0, 'SIGKILL')
    await kill(child)
    return join(directory, 'postgres', 'data', 'postmaster.pid')
  }

  function claim(file: string, pid: number): void {
    writeFileSync(file, readFileSync(file, 'latin1').replace(/^\d+/, String(pid)))
  }

  test('with a pid that another process has now count as stale', async () => {
    const file = await crashed()
    claim(file, process.pid)
    await using _server = await start()
    expect(await recall()).toBe(2)
  })

  test('with the pid of an unreaped zombie count as stale', async () => {
    const file = await crashed()
    // Its child ends with the pipe after `sleep`, which reaps nothing, has taken the shell's place.
    const script = 'cat <&3 >/dev/null & echo $!; exec sleep 600'
    const parent = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit', 'pipe'] })
    children.push(parent)
    const line = await createInterface({ input: parent.stdout as Readable })
      [Symbol.asyncIterator]()
      .next()
    const zombie = Number(line.value)
    await vi.waitFor(() => expect(readFileSync(`/proc/${parent.pid}/comm`, 'utf8')).toBe('sleep\n'), 20_000)
    parent.stdio[3]?.destroy()
    await vi.waitFor(() => expect(isRunning(zombie)).toBe(false), 20_000)
    process.kill(zombie, 0)
    claim(file, zombie)
    await using _server = await start()
    expect(await recall()).toBe(2)
  })

  test('of a server that an operator started by hand are left alone, and it is named', async () => {
    await (await start()).stop()
    const layout = prepareLayout(directory)
    const command = postgresCommand(layout, layout.data, 'INT', view => [
      `${view.bin}/postgres`,
      '-D',
      view.data,
      '-clisten_addresses=',
      `-cunix_socket_directories=${view.socket}`,
    ])
    const byHand = spawn(command.file, command.args, { env: postgresEnvironment, stdio: 'ignore' })
    children.push(byHand)
    await vi.waitFor(() => remember(), 20_000)
    await expect(start()).rejects.toThrow(`data directory in use by PID ${byHand.pid}`)
    expect(await recall()).toBe(2)
  })
})

describe('refusals in one line', () => {
  test('names a data directory of another PostgreSQL version', async () => {
    const { data } = prepareLayout(directory)
    mkdirSync(data)
    writeFileSync(join(data, 'PG_VERSION'), '15\n')
    await expect(start()).rejects.toThrow(/is of PostgreSQL 15, but this release runs 18/)
  })

  test('names a data directory that is a file', async () => {
    writeFileSync(join(directory, 'file'), '')
    await expect(start(join(directory, 'file'))).rejects.toThrow(/a part of the path is not a directory/)
  })

  test.runIf(asRoot)('says that root may not mount', async () => {
    const args = ['--bounding-set=-sys_admin', '--inh-caps=-all', process.execPath, fixture, directory]
    const { stdout } = spawnSync('setpriv', args, { encoding: 'utf8' })
    const answer: Answer = JSON.parse(stdout)
    expect(answer.refused).toMatch(/needs the capability SYS_ADMIN.* or set DATABASE_URL$/)
  })

  test("gives PostgreSQL's own reason", async () => {
    const refused = startEmbeddedPostgres({
      dataDir: directory,
      log: silentLog,
      parameters: { max_connections: 'many' },
    })
    await expect(refused).rejects.toThrow(
      'the embedded PostgreSQL did not start (exit status 1): invalid value for parameter "max_connections": "many"',
    )
    await using _server = await start()
  })
})

describe.runIf(asRoot)('on a full disk', () => {
  let disk: string

  function mount(mebibytes: number): void {
    disk = join(directory, 'disk')
    mkdirSync(disk)
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'berth-test', disk])
  }

  afterEach(() => {
    execFileSync('umount', [disk])
  })

  test('the first start says so before it makes anything', async () => {
    mount(4)
    await expect(start(disk)).rejects.toThrow(
      /^no space left on the disk: [34] MiB free under .*, PostgreSQL needs 16$/,
    )
    expect(existsSync(join(disk, 'postgres', 'data'))).toBe(false)
  })

  test('a first start that runs out of room leaves nothing half made', async () => {
    mount(24)
    await expect(start(disk)).rejects.toThrow(/No space left on device/)
    expect(readdirSync(join(disk, 'postgres')).sort()).toEqual(
      ['server.lock', 'service.lock', 'socket'].filter(name => existsSync(join(disk, 'postgres', name))),
    )
    execFileSync('mount', ['-o', 'remount,size=200m', disk])
    await using _server = await start(disk)
  })

  test('a later start says so and keeps the data', async () => {
    mount(160)
    {
      await using _server = await start(disk)
      await remember(disk)
    }
    const filler = join(disk, 'filler')
    fill(filler)
    await expect(start(disk)).rejects.toThrow(/^no space left on the disk: 0 MiB free/)
    rmSync(filler)
    await using _server = await start(disk)
    expect(await recall(disk)).toBe(2)
  })
})

/** Writes until the disk is full. */
function fill(path: string): void {
  const descriptor = openSync(path, 'w')
  try {
    for (;;) writeSync(descriptor, Buffer.alloc(1024 * 1024))
  } catch (error) {
    expect(error).toHaveProperty('code', 'ENOSPC')
  } finally {
    closeSync(descriptor)
  }
}

/** Returns true if an ordinary user can run the files of this checkout. */
function reachableByNobody(): boolean {
  if (!asRoot) return false
  const native = join(
    dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/linux-${process.arch}`)),
    '../native',
  )
  const files = [fixture, process.execPath, join(native, 'bin', 'postgres')]
  const nobody = { uid: 65_534, gid: 65_534 }
  return files.every(file => spawnSync('test', ['-r', file], nobody).status === 0)
}

describe.runIf(reachableByNobody())('as an ordinary user', () => {
  const nobody = { uid: 65_534, gid: 65_534 }

  test('serves, survives kill -9, and takes long paths', async () => {
    chmodSync(directory, 0o777)
    const long = join(directory, 'z'.repeat(120))
    const { child, ready } = await startService(long, nobody)
    expect(readFileSync(`/proc/${ready}/status`, 'latin1')).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m)
    await remember(long)
    await kill(child)
    const again = await startService(long, nobody)
    expect(again.ready).toBeGreaterThan(0)
    expect(await recall(long)).toBe(2)
    await kill(again.child)
  })
})
