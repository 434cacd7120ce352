/** One piece of work in this process's hands. */
export interface Task {
  /** Keeps the claim; false where another has taken it over. */
  renew(until: Date): Promise<boolean>
  /** Must stop when the signal aborts: another process may be at it by then. */
  work(signal: AbortSignal): Promise<void>
}

/** Where one kind of work is claimed. */
export interface Desk {
  readonly name: string
  /** Tasks at once in this process. */
  readonly concurrency: number
  claim(by: { readonly now: Date; readonly until: Date }, limit: number): Promise<readonly Task[]>
}
