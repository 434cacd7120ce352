import { homedir } from 'node:os'
import { join } from 'node:path'

/** Settings that the engine reads from its environment. */
export interface Environment {
  /** Base URL of the gateway, including `/v1`; inside a sandbox, the forwarder. */
  readonly gatewayUrl: string
  /** Directory of conversation files, one per conversation. It lies below the home, so checkpoints include it. */
  readonly sessionsDir: string
  /** Delay before the first retry of a model request; it doubles with each retry. */
  readonly retryBaseMs: number
  /** Longest silence allowed while a model streams its answer. */
  readonly modelIdleMs: number
  /** Model requests allowed within one prompt that brings no budget of them. */
  readonly maxTurns: number
  /** Longest run of a program that looks for what an edit has made wrong. */
  readonly diagnosticsMs: number
  /** For MCP servers: time to start, the part of it that a prompt waits for, and time for one call. */
  readonly serverStartMs: number
  readonly serverWaitMs: number
  readonly serverCallMs: number
}

/**
 * Reads the settings from environment variables. Every setting has a default that fits a sandbox; tests override them
 * so that no test waits for production timeouts.
 */
export function readEnvironment(env: NodeJS.ProcessEnv): Environment {
  // The engine talks to the gateway only, so disable the SDK's catalogs, update checks and statistics.
  process.env['PI_OFFLINE'] = '1'
  process.env['PI_TELEMETRY'] = '0'
  process.env['PI_SKIP_VERSION_CHECK'] = '1'
  return {
    gatewayUrl: env['BERTH_GATEWAY_URL'] ?? 'http://127.0.0.1:3128/v1',
    sessionsDir: join(env['HOME'] ?? homedir(), '.berth', 'sessions'),
    retryBaseMs: positive(env['BERTH_ENGINE_RETRY_MS']) ?? 1000,
    modelIdleMs: positive(env['BERTH_ENGINE_MODEL_IDLE_MS']) ?? 300_000,
    maxTurns: positive(env['BERTH_ENGINE_MAX_TURNS']) ?? 200,
    diagnosticsMs: positive(env['BERTH_ENGINE_DIAGNOSTICS_MS']) ?? 5000,
    serverStartMs: positive(env['BERTH_ENGINE_MCP_START_MS']) ?? 60_000,
    serverWaitMs: positive(env['BERTH_ENGINE_MCP_WAIT_MS']) ?? 10_000,
    serverCallMs: positive(env['BERTH_ENGINE_MCP_CALL_MS']) ?? 600_000,
  }
}

function positive(text: string | undefined): number | undefined {
  const value = Number(text)
  return text !== undefined && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
