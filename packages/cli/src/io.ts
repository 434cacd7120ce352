import type { BerthClient, Platform } from '@berth/client'
import type { Connection } from './connection.ts'
import type { Output } from './output.ts'
import type { ProfileStore } from './profiles/profile-store.ts'
import type { ServiceClock } from './service-clock.ts'

/** Given to every command that talks to the service. */
export interface CommandIo {
  readonly client: BerthClient
  readonly connection: Connection
  readonly stdin: NodeJS.ReadStream
  readonly stdout: Output
  readonly stderr: Output
  readonly clock: ServiceClock
}

/** Given to every command that only reads and writes files. */
export type LocalIo = Pick<CommandIo, 'stdout' | 'stderr'>

/** Given to every command that changes the sign-ins of this user. */
export interface SignInIo {
  readonly env: NodeJS.ProcessEnv
  readonly store: ProfileStore
  readonly platform: Platform
  readonly stdout: Output
  readonly stderr: Output
}

/** Given to every operator's command: the service's settings, and a function that prints a line. */
export interface AdminIo {
  readonly env: NodeJS.ProcessEnv
  readonly print: (line: string) => void
}
