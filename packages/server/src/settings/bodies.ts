import type { Environment } from './environment.ts'

/** Limits on the request bodies that a process holds, and on its patience with slow ones. */
export interface BodySettings {
  /** One organization gets half of them at most. */
  readonly processBytes: number
  /** For one installation, person, key or Run. */
  readonly callerBytes: number
  /** Bodies over 64 KiB that one of those may send at once. */
  readonly callerBodies: number
  readonly patienceMs: number
}

const mebibyte = 1024 ** 2

/**
 * Reads the limits. The bytes grow with the largest request.
 * @param gatewayBytes largest body of one model request
 */
export function readBodies(env: Environment, gatewayBytes: number): BodySettings {
  const callerBytes = Math.max(64 * mebibyte, gatewayBytes)
  return {
    processBytes: Math.max(256 * mebibyte, 2 * callerBytes),
    callerBytes,
    callerBodies: 16,
    patienceMs: env.duration(
      'BERTH_BODY_PATIENCE_SECONDS',
      20,
      'A body that brings less than 64 KiB in this long, and does not end, is refused.',
    ),
  }
}
