import type { BerthClient } from '@berth/client'
import type { Output } from './output.ts'

/** Given to every command that talks to the service. */
export interface CommandIo {
  readonly client: BerthClient
  readonly stdin: NodeJS.ReadStream
  readonly stdout: Output
  readonly stderr: Output
}

/** Given to every operator's command: the service's settings, and a function that prints a line. */
export interface AdminIo {
  readonly env: NodeJS.ProcessEnv
  readonly print: (line: string) => void
}
