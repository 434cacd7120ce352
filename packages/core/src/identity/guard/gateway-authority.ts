import type { GatewayAuthority, GatewayVerdict } from './gateway-caller.ts'
import type { GatewayJudge, GatewayJudgement } from './gateway-judge.ts'
import { limited, metering } from './metering.ts'

/** Requests with one credential from one address, judged together. */
interface Batch {
  readonly bearer: string
  readonly clientAddress: string
  waiting: PromiseWithResolvers<GatewayVerdict>[]
}

/**
 * The gateway's guard. Requests that arrive while their credential is being judged are judged together by the next call.
 * Each is judged after its arrival, so a revocation takes effect as before. A busy key no longer queues for the lock of
 * its bucket's row. That queue had held it to a fraction of the throughput that the rest can serve.
 */
export class BatchingGatewayAuthority implements GatewayAuthority {
  readonly #judge: GatewayJudge
  /** Batches that are being judged. */
  readonly #batches = new Map<string, Batch>()

  constructor(judge: GatewayJudge) {
    this.#judge = judge
  }

  judge({ bearer, clientAddress }: { readonly bearer: string; readonly clientAddress: string }) {
    const key = `${bearer} ${clientAddress}`
    const verdict = Promise.withResolvers<GatewayVerdict>()
    const batch = this.#batches.get(key)
    if (batch !== undefined) {
      batch.waiting.push(verdict)
      return verdict.promise
    }
    const begun = { bearer, clientAddress, waiting: [verdict] }
    this.#batches.set(key, begun)
    void this.#judgeAll(key, begun)
    return verdict.promise
  }

  async #judgeAll(key: string, batch: Batch): Promise<void> {
    do {
      const together = batch.waiting
      batch.waiting = []
      try {
        const judgement = await this.#judge.judge(batch.bearer, batch.clientAddress, together.length)
        for (const [index, verdict] of together.entries()) verdict.resolve(verdictOf(judgement, index))
      } catch (error) {
        for (const verdict of together) verdict.reject(error)
      }
      // A busy key's next requests are about to be read. One call judges all that arrive in two turns of the event
      // loop. The first request of an idle key was judged at once.
      for (let turn = 0; turn < 2; turn += 1) await new Promise(setImmediate)
    } while (batch.waiting.length > 0)
    // In the same turn as the check, so that no request joins a batch that nobody judges.
    this.#batches.delete(key)
  }
}

/** Returns the verdict of one request of a batch: the first ones got the tokens. */
function verdictOf({ caller, granted, remaining, bucket }: GatewayJudgement, index: number): GatewayVerdict {
  if (caller === null) return index < granted ? { kind: 'invalid' } : limited('svc-cloud-auth', bucket, remaining)
  if (index >= granted) return limited('svc-ai', bucket, remaining)
  return { kind: 'granted', caller, metering: metering('svc-ai', bucket, remaining + granted - 1 - index) }
}
