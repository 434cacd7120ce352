import type { Fixed } from '@berth/platform/settings/fixed.ts'
import { type FarDeployments, startFar } from '../accounts/far.ts'
import { freePorts } from '../services/free-ports.ts'

const clientSecret = 'of-the-console-far-away-0123456789abcdef'

/** An account service and an API with a console, without a shared database. */
export async function startFarConsole(
  variables: Readonly<Record<string, string>> = {},
  apiFixed: Partial<Fixed> = {},
): Promise<FarDeployments> {
  // The account service has to know the console's address before either of them listens.
  const [port] = await freePorts(1)
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
