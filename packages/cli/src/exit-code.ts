/** What the process answers to the shell. */
export const exitCode = {
  completed: 0,
  failed: 1,
  usage: 2,
  cancelled: 130,
  /** The reader of the output went away, as a process ended by SIGPIPE reports it. */
  outputClosed: 141,
} as const

export type ExitCode = (typeof exitCode)[keyof typeof exitCode]
