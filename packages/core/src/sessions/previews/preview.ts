/** What an agent is saying and doing right now. */
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
}
