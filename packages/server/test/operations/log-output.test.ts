import { type ChildProcess, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { releaseVersion } from '@berth/platform/kit/version.ts'
import { freePorts } from '@berth/testing/services/free-ports.ts'
import { databaseUrl, testVariables } from '@berth/testing/services/service.ts'
import { createTestDatabase } from '@berth/testing/storage/postgres.ts'
import { until } from '@berth/testing/until.ts'
import { expect, test } from 'vitest'
import { spawn } from '../../../../script/testing/spawn.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'main.js')

interface Started extends AsyncDisposable {
  readonly child: ChildProcess
  readonly url: string
  /** The text of `GET /metrics`. */
  metrics(): Promise<string>
  /** Number of dropped lines, from the metrics. */
  dropped(): Promise<number>
}

/**
 * Starts the service with its log on a descriptor, closes the descriptor here, and waits until the service is ready.
 */
async function startLoggingTo(descriptor: number): Promise<Started> {
  await using stack = new AsyncDisposableStack()
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-logging-'))
  stack.defer(() => rmSync(dataDir, { recursive: true }))
  const db = stack.use(await createTestDatabase())
  const [metricsPort] = await freePorts(1)
  const child = spawn(process.execPath, [MAIN], {
    env: {
      ...testVariables,
      PATH: process.env.PATH,
      BERTH_ROLES: 'api',
      BERTH_LOG_LEVEL: 'info',
      BERTH_DATA_DIR: dataDir,
      BERTH_METRICS_PORT: String(metricsPort),
      DATABASE_URL: databaseUrl(db),
    },
    stdio: ['ignore', descriptor, 'inherit'],
  })
  closeSync(descriptor)
  stack.use(child)
  // The log cannot tell when the service is ready; its `dev.json` can.
  const url = await until('a start', () => {
    try {
      const { baseUrl }: { baseUrl: string } = JSON.parse(readFileSync(join(dataDir, 'dev.json'), 'utf8'))
      return baseUrl
    } catch {
      return undefined
    }
  })
  await until('a ready service', async () => (await fetch(`${url}/readyz`)).ok)
  const metrics = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  const opened = stack.move()
  return {
    child,
    url,
    metrics,
    async dropped() {
      return Number(/^berth_log_lines_dropped_total (\d+)$/m.exec(await metrics())?.[1])
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Sends requests that each log a long line. */
async function logMuch(url: string, lines: number): Promise<void> {
  for (let count = 0; count < lines; count += 1) {
    expect((await fetch(`${url}/v1/${'x'.repeat(8000)}`)).status).toBe(401)
  }
}

async function stopped(child: ChildProcess): Promise<number | null> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const [code] = await ended
  return code
}

test('a service whose log is a full device serves, counts the dropped lines, and stops when asked', async () => {
  await using service = await startLoggingTo(openSync('/dev/full', 'w'))
  await logMuch(service.url, 10)
  expect(await service.dropped()).toBeGreaterThan(10)
  expect(await service.metrics()).toContain(`\nberth_build_info{version="${releaseVersion}"} 1\n`)
  expect(await stopped(service.child)).toBe(0)
})

test('a service whose log is a pipe that nobody reads does the same', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-pipe-'))
  const path = join(directory, 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  expect(() => {
    for (;;) writeSync(reader, Buffer.alloc(4096, 'x'))
  }).toThrow('EAGAIN')
  try {
    await using service = await startLoggingTo(openSync(path, 'w'))
    await logMuch(service.url, 150)
    expect(await service.dropped()).toBeGreaterThan(0)
    expect(await stopped(service.child)).toBe(0)
  } finally {
    closeSync(reader)
    rmSync(directory, { recursive: true })
  }
})

test('a service whose log is a closed pipe does the same', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-pipe-'))
  const path = join(directory, 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(path, 'w')
  closeSync(reader)
  rmSync(directory, { recursive: true })
  await using service = await startLoggingTo(writer)
  await logMuch(service.url, 10)
  expect(await service.dropped()).toBeGreaterThan(10)
  expect(await stopped(service.child)).toBe(0)
})
