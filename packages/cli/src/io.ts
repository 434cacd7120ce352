import type { BerthClient } from '@berth/client'
import type { Output } from './output.ts'

/** What every command that talks to the service is given. */
export interface CommandIo {
  readonly client: BerthClient
  readonly stdin: NodeJS.ReadStream
  readonly stdout: Output
  readonly stderr: Output
}
