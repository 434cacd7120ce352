import { SandboxGoneError } from '@berth/sandboxes/driver.ts'

/** The supervisor accepted the connection and stayed silent: its sandbox is stopped, not gone. */
export class SandboxFrozenError extends Error {
  override readonly name = 'SandboxFrozenError'
}

/** A worker with a higher fence token has attached; this one must not touch the Run any more. */
export class FenceLostError extends Error {
  override readonly name = 'FenceLostError'
  /** The token that the supervisor holds. */
  readonly fence: number

  constructor(fence: number) {
    super(`a worker with fence token ${fence} has attached`)
    this.fence = fence
  }
}

/** The connection ended. The sandbox may still live: attach again to find out. */
export class ConnectionClosedError extends Error {
  override readonly name = 'ConnectionClosedError'
}

/** The bytes violate the protocol. Agent and supervisor share a user, so no byte from inside the sandbox is trusted. */
export class SupervisorProtocolError extends Error {
  override readonly name = 'SupervisorProtocolError'
}

/**
 * Returns the members of a log line about a failure in a sandbox. That a sandbox is gone, as after the end of its machine or
 * of the service, is for the service to mend: its reason says all, and a stack would look like a fault.
 */
export const failureFields = (error: unknown): { readonly reason: string } | { readonly err: unknown } =>
  error instanceof SandboxGoneError ? { reason: error.message } : { err: error }

/** Returns true if an error says that a sandbox is gone, stopped, or no longer speaks the protocol. */
export function isSandboxLost(error: unknown): error is Error {
  return (
    error instanceof SandboxGoneError || error instanceof SandboxFrozenError || error instanceof SupervisorProtocolError
  )
}
