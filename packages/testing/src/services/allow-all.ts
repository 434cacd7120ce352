import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Interaction } from '@berth/contract'
import type { Api } from '../api/api.ts'

const POLL_MS = 50

/** Stands in for a person who grants every approval of a Session until it is disposed of. */
export function allowAll(api: Api, sessionId: string): AsyncDisposable {
  const path = `/v1/sessions/${sessionId}/interactions`
  const gone = new AbortController()
  const watch = async () => {
    while (!gone.signal.aborted) {
      const { body } = await api.get<{ interactions: Interaction[] }>(path)
      for (const { id, request } of body.interactions) {
        const requestId = request.approval?.requestId
        await api.put(`${path}/${id}/decision`, { requestId, choice: 'allow_once', idempotencyKey: randomUUID() })
      }
      await sleep(POLL_MS, undefined, { signal: gone.signal }).catch(() => undefined)
    }
  }
  const watching = watch()
  return {
    async [Symbol.asyncDispose]() {
      gone.abort()
      await watching
    },
  }
}
