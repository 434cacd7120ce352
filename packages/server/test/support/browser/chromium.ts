import { type Browser, chromium } from 'playwright-core'

/**
 * Starts Debian's Chromium without a window, with a profile of its own that is deleted at the end. It reaches no name
 * but `localhost` and those below it, and no address but 127.0.0.1. Close it in `afterAll`.
 *
 * @param more switches beside these
 */
export function launchChromium(more: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    // Chromium refuses to start its sandbox as root.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      '--disable-quic',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost',
      ...more,
    ],
  })
}
