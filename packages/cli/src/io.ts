import type { BerthClient } from '@berth/client'
import type { Output } from './output.ts'

/** What every command that talks to the service is given. */
export interface CommandIo {
  readonly client: BerthClient
  readonly stdin: NodeJS.ReadStream
  readonly stdout: Output
  readonly stderr: Output
}

/** What a command of an operator works with: the service's settings, and where its lines go. */
export interface AdminIo {
  readonly env: NodeJS.ProcessEnv
  readonly print: (line: string) => void
}
