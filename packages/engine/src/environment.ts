import { homedir } from 'node:os'
import { join } from 'node:path'

/** What the engine is told by its environment. */
export interface Environment {
  /** The gateway's base URL, with `/v1`: the sandbox's forwarder. */
  readonly gatewayUrl: string
  /** Where conversations are kept, one file each; below the home, so that seals keep them. */
  readonly sessionsDir: string
  /** First wait before a request to the model is made again; it doubles. */
  readonly retryBaseMs: number
  /** Longest silence of a model that is answering. */
  readonly modelIdleMs: number
  /** Requests to the model within one prompt, whatever budget was given. */
  readonly maxTurns: number
  /** Of MCP servers: time to come up, how much of it a prompt waits for, and time for one call. */
  readonly serverStartMs: number
  readonly serverWaitMs: number
  readonly serverCallMs: number
}

/**
 * Reads what may be set from outside. All of it has a default that is right inside a sandbox; tests set the rest, so that
 * nothing waits for as long as a model may be away.
 */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  // Nothing but the gateway is asked for anything: no catalogs, no updates, no statistics.
  process.env['PI_OFFLINE'] = '1'
  process.env['PI_TELEMETRY'] = '0'
  process.env['PI_SKIP_VERSION_CHECK'] = '1'
  return {
    gatewayUrl: env['BERTH_GATEWAY_URL'] ?? 'http://127.0.0.1:3128/v1',
    sessionsDir: join(env['HOME'] ?? homedir(), '.berth', 'sessions'),
    retryBaseMs: positive(env['BERTH_ENGINE_RETRY_MS']) ?? 1000,
    modelIdleMs: positive(env['BERTH_ENGINE_MODEL_IDLE_MS']) ?? 300_000,
    maxTurns: positive(env['BERTH_ENGINE_MAX_TURNS']) ?? 200,
    serverStartMs: positive(env['BERTH_ENGINE_MCP_START_MS']) ?? 60_000,
    serverWaitMs: positive(env['BERTH_ENGINE_MCP_WAIT_MS']) ?? 10_000,
    serverCallMs: positive(env['BERTH_ENGINE_MCP_CALL_MS']) ?? 600_000,
  }
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text)
  return text !== undefined && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
