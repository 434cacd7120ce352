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

/** Reads the limits. */
export function readBodies(env: Environment): BodySettings {
  return {
    processBytes: 256 * mebibyte,
    callerBytes: 64 * mebibyte,
    callerBodies: 16,
    patienceMs: env.duration(
      'BERTH_BODY_PATIENCE_SECONDS',
      20,
      'A body that brings less than 64 KiB in this long, and does not end, is refused.',
    ),
  }
}
