/** Events that a transaction has appended for an agent, and their bytes. */
export interface Spent {
  readonly events: number
  readonly bytes: number
}
