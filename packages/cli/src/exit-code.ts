/** The exit codes of the process. */
export const exitCode = {
  completed: 0,
  failed: 1,
  usage: 2,
  /** The person's sign-in has ended: `berth login`. */
  signInRequired: 4,
  cancelled: 130,
  /** The reader of the output closed it; the code is that of a process ended by SIGPIPE. */
  outputClosed: 141,
} as const

export type ExitCode = (typeof exitCode)[keyof typeof exitCode]
