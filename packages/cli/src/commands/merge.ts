import { randomUUID } from 'node:crypto'
import { type Merge, settled } from '@berth/client'
import { deliveryError } from '../delivery-error.ts'
import { type ExitCode, exitCode } from '../exit-code.ts'
import type { CommandIo } from '../io.ts'
import { jsonLine, printableLine } from '../terminal-text.ts'
import { lastPullRequest } from './last-pull-request.ts'

export interface MergeOptions {
  readonly strategy: 'merge' | 'squash' | 'rebase'
  readonly whenReady?: boolean
  readonly json?: boolean
}

/** Merges a pull request of a Session, by default the one published last, and waits for the outcome. */
export async function merge(
  sessionId: string,
  publicationId: string | undefined,
  options: MergeOptions,
  { client, stdout, stderr }: CommandIo,
): Promise<ExitCode> {
  const published = publicationId ?? (await lastPullRequest(client, sessionId))
  const id = randomUUID()
  const mode = options.whenReady ? 'when_ready' : 'immediate'
  await client.call('createMerge', {
    sessionId,
    publicationId: published,
    mergeId: id,
    body: { strategy: options.strategy, mode },
  })
  let announced = false
  const decided = await settled(
    async () => {
      const { merge: current } = await client.call('getMerge', { sessionId, publicationId: published, mergeId: id })
      if (current.status === 'waiting' && !announced) {
        announced = true
        await stderr.line('berth: waiting until the host allows the merge; Ctrl-C leaves it waiting on the service')
      }
      return current
    },
    ({ completedAt }) => completedAt !== undefined,
  )
  await stdout.line(options.json ? jsonLine(decided) : printableLine(resultOf(decided)))
  return decided.status === 'succeeded' ? exitCode.completed : exitCode.failed
}

function resultOf({ id, pullRequestNumber, mergedCommitSha, lastError }: Merge): string {
  if (mergedCommitSha === undefined) return `merge ${id} failed: ${deliveryError(lastError)}`
  return `merge ${id} pull request #${pullRequestNumber} ${mergedCommitSha.slice(0, 12)}`
}
