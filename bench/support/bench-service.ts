import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { createServer } from 'node:net'
import { devNull } from 'node:os'
import { resolve } from 'node:path'
import type { Fixed } from '../../packages/platform/src/settings/fixed.ts'
import type { BenchDatabase } from './bench-database.ts'

const program = resolve(import.meta.dirname, '../../packages/testing/src/services/service-program.ts')

/** A bench sends more at once, and holds more streams open, than any caller may. */
const unbounded: Partial<Fixed> = {
  callerBurstSeconds: 10_000_000,
  addressBurstSeconds: 10_000_000,
  issuanceBurstSeconds: 100_000_000,
  gatewayBurstSeconds: 1_000_000,
  streamsPerAuthority: 10_000,
  streamsPerProcess: 10_000,
}

/** The API in its own process on the bench's database. It logs as by default, to the file `BERTH_BENCH_LOG` if that is set. */
export interface BenchService extends AsyncDisposable {
  readonly url: string
  readonly pid: number
}

export async function startBenchService(
  bench: BenchDatabase,
  variables: Record<string, string> = {},
  fixed: Partial<Fixed> = {},
): Promise<BenchService> {
  const port = variables['BERTH_PORT'] ?? (await freePort())
  const url = `http://127.0.0.1:${port}`
  const child = spawn(process.execPath, [program, JSON.stringify({ ...unbounded, ...fixed })], {
    env: {
      PATH: process.env['PATH'],
      BERTH_DATA_DIR: bench.dataDir,
      DATABASE_URL: bench.url,
      BERTH_PORT: String(port),
      BERTH_ROLES: 'api',
      ...variables,
    },
    stdio: ['ignore', openSync(process.env['BERTH_BENCH_LOG'] ?? devNull, 'a'), 'inherit'],
  })
  const exited = once(child, 'exit')
  while (
    !(await fetch(`${url}/readyz`).then(
      answer => answer.ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error('the service did not start')
    await new Promise(wait => setTimeout(wait, 50))
  }
  return {
    url,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** Returns a port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}
