import { StartError } from '../kit/start-error.ts'
import type { Environment } from './environment.ts'

/** Limits on the request bodies that a process holds, and on its patience with slow ones. */
export interface BodySettings {
  readonly processBytes: number
  readonly callerBytes: number
  readonly callerBodies: number
  readonly patienceMs: number
}

const mebibyte = 1024 ** 2

/**
 * Reads the limits. Their defaults grow with the largest request, so a larger request needs no other setting.
 * @param gatewayBytes largest body of one model request
 */
export function readBodies(env: Environment, gatewayBytes: number): BodySettings {
  const callerBytes = env.integer(
    'BERTH_BODY_BYTES_PER_CALLER',
    Math.max(64 * mebibyte, gatewayBytes),
    'Bytes of request bodies that this process holds for one installation, person, key or Run. The default is at least `BERTH_GATEWAY_BODY_BYTES`.',
    { least: mebibyte },
  )
  const processBytes = env.integer(
    'BERTH_BODY_BYTES_PER_PROCESS',
    Math.max(256 * mebibyte, 2 * callerBytes),
    'Bytes of request bodies that this process holds; one organization gets half of them at most. The default is at least twice `BERTH_BODY_BYTES_PER_CALLER`.',
    { least: mebibyte },
  )
  if (processBytes < 2 * callerBytes) {
    throw new StartError('BERTH_BODY_BYTES_PER_PROCESS must be at least twice BERTH_BODY_BYTES_PER_CALLER')
  }
  return {
    processBytes,
    callerBytes,
    callerBodies: env.integer(
      'BERTH_BODIES_PER_CALLER',
      16,
      'Bodies over 64 KiB that one installation, person, key or Run may send at once.',
    ),
    patienceMs: env.duration(
      'BERTH_BODY_PATIENCE_SECONDS',
      20,
      'A body that brings less than 64 KiB in this long, and does not end, is refused.',
    ),
  }
}
