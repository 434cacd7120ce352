import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Fixed } from '@berth/platform/settings/fixed.ts'
import { type FarDeployments, startFar } from '../accounts/far.ts'

const clientSecret = 'of-the-console-far-away-0123456789abcdef'

/** Returns a port of loopback that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('a listener without a port')
  return address.port
}

/** An account service and an API with a console, without a shared database. */
export async function startFarConsole(
  variables: Readonly<Record<string, string>> = {},
  apiFixed: Partial<Fixed> = {},
): Promise<FarDeployments> {
  // The account service has to know the console's address before either of them listens.
  const port = await freePort()
  return startFar({
    account: { BERTH_TRUSTED_PROXIES: '127.0.0.1' },
    accountConfig: {
      firstPartyClients: [
        { id: 'console-eu', name: 'Console (EU)', console: `http://127.0.0.1:${port}`, secret: clientSecret },
      ],
    },
    api: {
      BERTH_PORT: String(port),
      BERTH_CONSOLE_CLIENT: 'console-eu',
      BERTH_CONSOLE_CLIENT_SECRET: clientSecret,
      BERTH_TRUSTED_PROXIES: '127.0.0.1',
      ...variables,
    },
    apiFixed,
  })
}
