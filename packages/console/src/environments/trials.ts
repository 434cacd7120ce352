import {
  BerthConnectionError,
  defaultPlatform,
  type Environment,
  type EnvironmentTrial,
  followTrial,
} from '@berth/client'
import type { EventData } from '@berth/contract'
import { useSyncExternalStore } from 'react'
import { browserFetch, call, toBerthError } from '../api/client.ts'

/** Of a long log, the page keeps so many characters from its end. */
const kept = 256 * 1024

/** One apply of an environment's newest revision in a sandbox of its own. */
export interface Trial {
  readonly revision: number
  readonly state: EnvironmentTrial['state']
  readonly output: string
  /** The result of the apply. */
  readonly end: EventData<'svc.environment.apply'> | null
  /** A refusal or a broken connection. */
  readonly error: unknown
}

interface Held {
  trial: Trial
  readonly stop: () => void
}

/** The trials of this tab, by environment; leaving the page does not end one. */
const trials = new Map<string, Held>()
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function notify(): void {
  for (const listener of listeners) listener()
}

/** Returns the last trial of an environment in this tab; null if there was none. */
export function useTrial(environmentId: string): Trial | null {
  return useSyncExternalStore(subscribe, () => trials.get(environmentId)?.trial ?? null)
}

/** Returns true while a trial holds a sandbox. */
export const isUnderWay = ({ state }: Trial): boolean => state === 'starting' || state === 'applying'

/** Tries an environment's newest revision. The service ends the trial; the page stops it only if it is told to or closes. */
export function startTrial({ id: environmentId, revision }: Environment): void {
  const over = new AbortController()
  let trialId: string | null = null
  const change = (next: Partial<Trial>) => {
    // Another trial of the environment may have begun since.
    if (trials.get(environmentId) !== held) return
    held.trial = { ...held.trial, ...next }
    notify()
  }
  const finish = (next: Partial<Trial>) => {
    if (over.signal.aborted) return
    over.abort()
    change(next)
    removeEventListener('pagehide', leave)
  }
  // A page that closes waits for no answer, but the request still goes out.
  const leave = () => {
    finish({ state: 'stopped' })
    if (trialId !== null) giveBack(environmentId, trialId)
  }
  const held: Held = {
    trial: { revision, state: 'starting', output: '', end: null, error: null },
    stop: leave,
  }
  trials.set(environmentId, held)
  notify()
  addEventListener('pagehide', leave)

  const follow = async () => {
    const started = await call<{ trial: EnvironmentTrial }>('POST', `v1/environments/${environmentId}/trials`, {})
    trialId = started.trial.id
    // It was stopped before the page knew its id.
    if (over.signal.aborted) return giveBack(environmentId, trialId)
    for await (const frame of followTrial(streamOf(environmentId, trialId, over.signal))) {
      if (frame.kind === 'event') {
        if (frame.event.type !== 'svc.environment.output') continue
        const { text } = frame.event.data as EventData<'svc.environment.output'>
        change({ output: (held.trial.output + text).slice(-kept) })
        continue
      }
      const { state, result, revision: tried } = frame.trial
      const next = { state, revision: tried ?? held.trial.revision }
      if (frame.trial.endedAt === null) change(next)
      else finish({ ...next, end: state === 'stopped' ? null : result })
    }
  }
  follow().catch(error => {
    finish({ state: 'failed', error })
    if (trialId !== null) giveBack(environmentId, trialId)
  })
}

/** Ends an environment's trial and gives its sandbox back. */
export function stopTrial(environmentId: string): void {
  trials.get(environmentId)?.stop()
}

/** Stops a trial for the service. If this fails, the service stops it soon, since nobody follows it. */
function giveBack(environmentId: string, trialId: string): void {
  call('DELETE', `v1/environments/${environmentId}/trials/${trialId}`).catch(() => {})
}

function streamOf(environmentId: string, trialId: string, signal: AbortSignal): Parameters<typeof followTrial>[0] {
  return {
    open: async (after, { signal: opening }) => {
      const path = `/cloud/v1/environments/${environmentId}/trials/${trialId}/stream?after=${after}`
      const response = await browserFetch(path, {
        headers: { accept: 'text/event-stream' },
        cache: 'no-store',
        ...(opening === undefined ? {} : { signal: opening }),
      }).catch(cause => {
        // A service that restarts takes no connection for a moment.
        throw new BerthConnectionError(path, "the trial's stream did not open", { cause })
      })
      if (!response.ok) throw await toBerthError(response)
      return response
    },
    platform: { ...defaultPlatform, fetch: browserFetch },
    signal,
  }
}
