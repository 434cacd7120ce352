import type { Progress } from '@berth/platform/kit/progress.ts'

/** What an agent is saying and doing right now, or how far its sandbox is. */
export interface Preview {
  /** The message that has not ended, so far. */
  readonly message?: { readonly messageId: string; readonly role: 'assistant' | 'reasoning'; readonly text: string }
  /** The tool calls that have not ended, oldest first. */
  readonly activities: readonly {
    readonly activityId: string
    readonly name: string
    readonly kind: string
    readonly title: string
    readonly startedAt: string
  }[]
  /** Steps before the agent begins of which the log says that they go on, and whose progress is known. */
  readonly steps?: readonly { readonly stepId: string; readonly title: string; readonly progress: Progress }[]
}
