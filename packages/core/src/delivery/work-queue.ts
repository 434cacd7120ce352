/** One piece of work that this process has claimed. */
export interface Task {
  /** Renews the claim; false if another process has taken it over. */
  renew(until: Date): Promise<boolean>
  /** Stops when the signal aborts, because another process may do the work by then. */
  work(signal: AbortSignal): Promise<void>
}

/** One kind of work, of which each process claims a share. */
export interface WorkQueue {
  readonly name: string
  /** Most tasks at once in this process. */
  readonly concurrency: number
  claim(by: { readonly now: Date; readonly until: Date }, limit: number): Promise<readonly Task[]>
}
