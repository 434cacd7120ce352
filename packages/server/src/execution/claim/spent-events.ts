/** What a transaction has put into the log for an agent. */
export interface Spent {
  readonly events: number
  readonly bytes: number
}
