/** One refused field of a request. */
export interface RequestIssue {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** Maximum number of issues in one answer; a body may hold far more than a caller can use. */
export const maxIssues = 100
