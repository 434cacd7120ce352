/** The supervisor accepted the connection and then stayed silent: it is stopped, not gone. */
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

/** The connection ended. Says nothing about the sandbox: attach again to learn. */
export class ConnectionClosedError extends Error {
  override readonly name = 'ConnectionClosedError'
}

/** What came is not the protocol. Agent and supervisor share a user, so no byte from inside is to be trusted. */
export class SupervisorProtocolError extends Error {
  override readonly name = 'SupervisorProtocolError'
}
