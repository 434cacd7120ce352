import type { CallOptions } from './call-options.ts'
import type { EnvironmentTrial, StartTrial } from './generated/types.ts'
import type { Transport } from './transport.ts'

interface TrialAnswer {
  readonly trial: EnvironmentTrial
}

/** Trials of environments: applies in sandboxes that are thrown away. */
export interface TrialOperations {
  /** Asks once for a trial of the newest revision; one whose answer was lost is stopped when nobody follows it. */
  start(environmentId: string, body: StartTrial, options?: CallOptions): Promise<TrialAnswer>
  /** Stops a trial and gives its sandbox back. One that has ended stays as it ended. */
  stop(environmentId: string, trialId: string, options?: CallOptions): Promise<TrialAnswer>
  /** Opens the stream of a trial once, without retry; most callers want `followTrial` instead. */
  openStream(environmentId: string, trialId: string, after: number, options?: CallOptions): Promise<Response>
}

/** Makes the operations of `/v1`, for installations, or of `/cloud`, for people. */
export function trialOperations(transport: Transport, root: 'v1' | 'cloud'): TrialOperations {
  const all = (environmentId: string) => [root, 'environments', environmentId, 'trials']
  return {
    async start(environmentId, body, options) {
      const request = { method: 'POST', path: all(environmentId), body, once: true } as const
      return (await transport.json({ ...request, options })).body as TrialAnswer
    },
    async stop(environmentId, trialId, options) {
      const request = { method: 'DELETE', path: [...all(environmentId), trialId] } as const
      return (await transport.json({ ...request, options })).body as TrialAnswer
    },
    openStream: (environmentId, trialId, after, options) =>
      transport.open({
        method: 'GET',
        path: [...all(environmentId), trialId, 'stream'],
        query: { after },
        headers: { accept: 'text/event-stream', 'last-event-id': String(after) },
        options,
      }),
  }
}
