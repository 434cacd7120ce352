import { RelayServer } from '@berth/core/hosts/relay/relay-server.ts'
import type { RelayTokens } from '@berth/core/hosts/relay/relay-tokens.ts'
import type { SandboxDoors } from '@berth/core/hosts/sandbox-doors.ts'
import { relayUrlOn } from '@berth/platform/settings/relay.ts'
import type { Settings } from '@berth/platform/settings/settings.ts'
import type { Logger } from 'pino'

/** A relay that listens already: the row of its process names its port before its sandboxes are known. */
export interface OpenedRelay {
  readonly url: string
  /** Passes connections on from now on; whoever comes before is refused. */
  serve(doors: Pick<SandboxDoors, 'localDoor'>): void
}

/** Opens the relay of a worker; undefined if it has none. @throws StartError */
export async function openRelay(
  { relay, listener: { host } }: Pick<Settings, 'relay' | 'listener'>,
  log: Logger,
  tokens: RelayTokens,
  stack: AsyncDisposableStack,
): Promise<OpenedRelay | undefined> {
  if (relay.port === undefined) return undefined
  let doors: Pick<SandboxDoors, 'localDoor'> | null = null
  const doorOf = (of: string) => doors?.localDoor(of) ?? null
  const server = stack.use(new RelayServer({ tokens, doorOf, log, listener: { host, port: relay.port } }))
  const port = await server.listen()
  return {
    url: relayUrlOn(relay, host, port),
    serve(served) {
      doors = served
    },
  }
}
