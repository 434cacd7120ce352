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

  /** Most attempts at a Run, if its agent is lost before it called a tool. */
  readonly maxAttempts: number
  /**
   * How often a Run may lose its worker without progress, or its host before its agent begins. One more counts as an attempt,
   * or the Run crashes.
   */
  readonly maxHandovers: number
  /** Deadline for a sandbox to be made. */
  readonly provisionMs: number
  /** Deadline for an agent to start and open its conversation. */
  readonly agentStartMs: number
  /** A cancelled agent that has not stopped after this long is killed. */
  readonly cancelGraceMs: number
  /** A native agent that has waited for an answer this long is sealed and gives its sandbox back. */
  readonly parkMs: number
  /** An agent that was not asked anything for this long is ended, and its sandbox stays. */
  readonly agentIdleMs: number
  /** A supervisor that is silent for this long counts as hung. */
  readonly pingMs: number
  /** A host that is silent for this long counts as lost, and its sandboxes with it. */
  readonly hostLostMs: number
  /** How much the agent of one Run may add to the log, which is kept for ever; the Run then fails with `event_budget`. */
  readonly runEvents: number
  readonly runEventBytes: number

  /** How many seconds of its rate an installation or a membership may use at once. */
  readonly callerBurstSeconds: number
  /** The same for an address. */
  readonly addressBurstSeconds: number
  /** The same for an address that requests tokens. */
  readonly issuanceBurstSeconds: number
  /** The same for requests to models. */
  readonly gatewayBurstSeconds: number
  /** Bytes of the request bodies that a process holds; one organization gets half of them at most. */
  readonly bodyBytesPerProcess: number
  /** For one installation, person, key or Run. */
  readonly bodyBytesPerCaller: number
  /** Bodies over 64 KiB that one of those may send at once. */
  readonly bodiesPerCaller: number
  /** A body that brings less than 64 KiB in this long, and does not end, is refused. */
  readonly bodyPatienceMs: number

  /** Streams that one authority may have open, over all processes. */
  readonly streamsPerAuthority: number
  /** Streams that a process may have open. */
  readonly streamsPerProcess: number
  /** Least age at which a stream ends. Each ends at a random age, and its client resumes it. */
  readonly streamMinMs: number
  /** Greatest age at which a stream ends. */
  readonly streamMaxMs: number
  /** An open stream ends within this long after its credential was revoked. */
  readonly streamAuthorityMs: number

  /** Time for each request to an external identity provider. */
  readonly identityProviderMs: number
  /** Longest time for a verdict of an account service with a database of its own. */
  readonly identityMs: number

  /** Longest wait of a caller for a workspace that a worker is restoring. */
  readonly workspaceWaitMs: number
  /** Longest life of a trial of an environment. */
  readonly trialMs: number
  /** Whether an orderly stop gives back the sandboxes that rest on this machine, their work sealed. */
  readonly stopGivesBack: boolean

  /** Longest wait of a caller for a review. */
  readonly reviewWaitMs: number
  /** A Publication or a Merge fails if its Git host has not answered after this long. */
  readonly publicationMs: number
  /** Longest wait of a Merge for its pull request to become ready. */
  readonly mergeWaitMs: number
  /** Delay before the second look at a pull request that is not ready. It doubles for each further look, up to a bound. */
  readonly mergeCheckMs: number
  /** Time between two looks of a follow-up at its host. */
  readonly followPollMs: number

  /** Largest file in a sandbox. */
  readonly sandboxFileBytes: number

  /** URL of the API server of the cluster that this process is in. */
  readonly kubernetesApiUrl: string
  /** File with the token for it, which is read again for each request. */
  readonly kubernetesTokenFile: string
  /** File with the authorities of its certificate. */
  readonly kubernetesCaFile: string
  /** Deadline for a pod to dial. */
  readonly kubernetesStartMs: number
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

  maxAttempts: 3,
  maxHandovers: 5,
  provisionMs: 60_000,
  agentStartMs: 60_000,
  cancelGraceMs: 10_000,
  parkMs: 600_000,
  agentIdleMs: 120_000,
  pingMs: 10_000,
  hostLostMs: 300_000,
  runEvents: 200_000,
  runEventBytes: 256 * 1024 ** 2,

  callerBurstSeconds: 12,
  addressBurstSeconds: 12,
  issuanceBurstSeconds: 60,
  gatewayBurstSeconds: 6,
  bodyBytesPerProcess: 256 * 1024 ** 2,
  bodyBytesPerCaller: 64 * 1024 ** 2,
  bodiesPerCaller: 16,
  bodyPatienceMs: 20_000,

  streamsPerAuthority: 64,
  streamsPerProcess: 256,
  streamMinMs: 300_000,
  streamMaxMs: 600_000,
  streamAuthorityMs: 10_000,

  identityProviderMs: 5_000,
  identityMs: 250,

  workspaceWaitMs: 30_000,
  trialMs: 1_800_000,
  stopGivesBack: true,

  reviewWaitMs: 60_000,
  publicationMs: 600_000,
  mergeWaitMs: 86_400_000,
  mergeCheckMs: 5_000,
  followPollMs: 120_000,

  sandboxFileBytes: 4 * 1024 ** 3,

  kubernetesApiUrl: 'https://kubernetes.default.svc',
  kubernetesTokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token',
  kubernetesCaFile: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt',
  kubernetesStartMs: 300_000,
}
