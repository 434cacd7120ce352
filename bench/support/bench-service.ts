import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import type { BenchDatabase } from './bench-database.ts'

const main = resolve(import.meta.dirname, '../../packages/server/src/main.ts')

/** The API as a process of its own on the bench's database. */
export interface BenchService extends AsyncDisposable {
  readonly url: string
  readonly pid: number
}

export async function startBenchService(
  bench: BenchDatabase,
  variables: Record<string, string> = {},
): Promise<BenchService> {
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env['PATH'],
      BERTH_DATA_DIR: bench.dataDir,
      DATABASE_URL: bench.url,
      BERTH_PORT: '0',
      BERTH_ROLES: 'api',
      BERTH_RATE_BURST: '100000000',
      BERTH_AUTH_RATE_BURST: '100000000',
      BERTH_STREAMS_PER_AUTHORITY: '10000',
      BERTH_STREAMS_PER_PROCESS: '10000',
      BERTH_LOG_LEVEL: 'info',
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let output = ''
  const url = await new Promise<string>((found, failed) => {
    child.stdout.on('data', chunk => {
      output += chunk
      const ready = output.match(/"baseUrl":"([^"]+)"/)
      if (ready?.[1] !== undefined) found(ready[1])
      if (output.length > 1_000_000) output = ''
    })
    exited.then(() => failed(new Error(`the service did not start: ${output}`)), failed)
  })
  return {
    url,
    pid: child.pid ?? 0,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await exited
    },
  }
}
