/** One refused field of a request (interface 7.1). */
export interface RequestIssue {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** Faults told in one answer. A body can hold more faults than are worth telling; the caller mends these first. */
export const maxIssues = 100
