import type { Environment } from './environment.ts'

/** How much of request bodies a process holds, and for how long it waits for them. */
export interface BodySettings {
  readonly processBytes: number
  readonly callerBytes: number
  readonly callerBodies: number
  readonly patienceSeconds: number
}

const mebibyte = 1024 ** 2

/** Reads them. */
export function readBodies(env: Environment): BodySettings {
  return {
    processBytes: env.integer(
      'BERTH_BODY_BYTES_PER_PROCESS',
      256 * mebibyte,
      'Request bodies that this process holds at once; one organization has half of it at most.',
      { least: mebibyte },
    ),
    callerBytes: env.integer(
      'BERTH_BODY_BYTES_PER_CALLER',
      64 * mebibyte,
      'Request bodies that this process holds at once of one installation, person, key or Run.',
      { least: mebibyte },
    ),
    callerBodies: env.integer(
      'BERTH_BODIES_PER_CALLER',
      16,
      'Bodies over 64 KiB that one installation, person, key or Run sends at once.',
    ),
    patienceSeconds: env.seconds(
      'BERTH_BODY_PATIENCE_SECONDS',
      20,
      'A request whose body brings less than 64 KiB in this long, and does not end, is given up.',
    ),
  }
}
