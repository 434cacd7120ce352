/**
 * A stand-in for the service, made to be killed. It holds an embedded PostgreSQL on the given directory and reports it
 * in one line of JSON.
 */

import { StartError } from '@berth/platform/kit/start-error.ts'
import { startEmbeddedPostgres } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { silentLog } from './log.ts'

try {
  const server = await startEmbeddedPostgres({ dataDir: process.argv[2] ?? '', log: silentLog })
  process.stdout.write(`${JSON.stringify({ ready: server.pid })}\n`)
  process.stdin.resume()
} catch (error) {
  if (!(error instanceof StartError)) throw error
  process.stdout.write(`${JSON.stringify({ refused: error.message })}\n`)
}
