/**
 * Values that no operator sets, because the design decides them or nobody can choose better. The environment does not reach
 * them; a test that needs another one gives it to `loadSettings`. Their names end in their unit.
 */
export interface Fixed {
  /** Deadline for a connection to a model provider. */
  readonly gatewayConnectMs: number
  /** Deadline for the first byte of a provider's answer. Without `stream` it comes when the answer is complete. */
  readonly gatewayFirstByteMs: number
  /** Longest silence within a provider's answer. */
  readonly gatewayIdleMs: number
  /** Deadline for a provider's whole answer. */
  readonly gatewayTotalMs: number
  /** Further attempts at one model after the first. */
  readonly gatewayRetries: number
  /** Longest wait that a provider may ask for before a retry; if it asks for more, the request fails. */
  readonly gatewayRetryWaitMs: number
  /** A client that reads nothing of its answer for this long is disconnected. */
  readonly gatewayClientPatienceMs: number
  /** Largest body of a model request. */
  readonly gatewayBodyBytes: number
  /** Maximum number of connections to one provider. */
  readonly gatewayConnections: number
  /** Maximum number of concurrent model requests of one sandbox. */
  readonly gatewaySandboxRequests: number
}

export const defaults: Fixed = {
  gatewayConnectMs: 10_000,
  gatewayFirstByteMs: 600_000,
  gatewayIdleMs: 300_000,
  gatewayTotalMs: 3_600_000,
  gatewayRetries: 2,
  gatewayRetryWaitMs: 5_000,
  gatewayClientPatienceMs: 60_000,
  gatewayBodyBytes: 32 * 1024 ** 2,
  gatewayConnections: 1024,
  gatewaySandboxRequests: 64,
}
